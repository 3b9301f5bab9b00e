//! Writes shapes as SVG. Colours are classes: a file has a style sheet and a white
//! background, an SVG inside a page takes the colours of the page, light or dark.
//! Coordinates have one decimal.

use super::layout::{Anchor, Drawing, Shape, layout, layout_with_frames};
use super::style::Marker;
use super::{Panel, font, hover, style};
use crate::text::escaped;
use std::fmt::Write;

/// Returns an SVG file with `panels`, one below the other.
pub fn svg(panels: &[Panel]) -> String {
    let drawing = layout(panels);
    let sheet = style::sheet("", false);
    let ground = "<rect class=\"ground\" width=\"100%\" height=\"100%\" fill=\"currentColor\"/>";
    let mut out = open(&drawing, " xmlns=\"http://www.w3.org/2000/svg\"");
    let _ = write!(out, "<style>{sheet}</style>{ground}");
    shapes(&mut out, &drawing, false);
    out.push_str("</svg>\n");
    out
}

/// Returns a plot for an HTML page, whose style sheet sets the colours: an SVG element of
/// class `wide`, which shows values under the pointer, and one of class `narrow` for the width
/// of a phone; the style sheet of `page` shows one of them. `label` is for screen readers.
pub fn inline_svg(panels: &[Panel], label: &str) -> String {
    let mut out = String::new();
    for (class, size) in [("wide", style::WIDE), ("narrow", style::NARROW)] {
        let (drawing, frames) = layout_with_frames(panels, size);
        let label = escaped(label);
        let attributes = format!(" class=\"{class}\" role=\"img\" aria-label=\"{label}\"");
        out.push_str(&open(&drawing, &attributes));
        shapes(&mut out, &drawing, true);
        if size == style::WIDE {
            values(&mut out, panels, &frames);
        }
        out.push_str("</svg>\n");
    }
    out
}

/// Areas without colour that show values while the pointer is on them.
fn values(out: &mut String, panels: &[Panel], frames: &[super::layout::Frame]) {
    out.push_str("<g fill=\"none\" pointer-events=\"all\">");
    for (panel, frame) in panels.iter().zip(frames) {
        for hover::Spot { x, y, width, height, text } in hover::spots(panel, frame) {
            let _ = write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\">\
                 <title>{}</title></rect>",
                escaped(&text)
            );
        }
    }
    out.push_str("</g>");
}

fn open(drawing: &Drawing, attributes: &str) -> String {
    let (width, height) = (drawing.width, drawing.height.ceil());
    format!(
        "<svg{attributes} viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"{}\">",
        style::FONTS
    )
}

/// Writes the shapes. On a page, where a browser may have none of the fonts but wider ones, words
/// take the width that was reckoned with.
fn shapes(out: &mut String, drawing: &Drawing, is_on_page: bool) {
    for shape in &drawing.shapes {
        let _ = match shape {
            Shape::Line { points, ink, width, dash } => {
                let lengths: Vec<String> = dash.iter().map(ToString::to_string).collect();
                let dash = if lengths.is_empty() {
                    String::new()
                } else {
                    format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
                };
                write!(
                    out,
                    "<path class=\"{}\" d=\"{}\" fill=\"none\" stroke=\"currentColor\" \
                     stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>",
                    ink.class(),
                    path(points)
                )
            }
            Shape::Box { x, y, width, height, ink, opacity } => write!(
                out,
                "<rect class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                 height=\"{height:.1}\" fill=\"currentColor\" fill-opacity=\"{opacity}\"/>",
                ink.class()
            ),
            Shape::Area { points, ink, opacity } => write!(
                out,
                "<path class=\"{}\" d=\"{}Z\" fill=\"currentColor\" fill-opacity=\"{opacity}\"/>",
                ink.class(),
                path(points)
            ),
            Shape::Dot { x, y, radius, marker, ink } if *marker != Marker::Circle => write!(
                out,
                "<path class=\"{}\" d=\"{}Z\" fill=\"currentColor\"/>",
                ink.class(),
                path(&marker.corners(*x, *y, *radius))
            ),
            Shape::Dot { x, y, radius, ink, .. } => write!(
                out,
                "<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" \
                 fill=\"currentColor\"/>",
                ink.class()
            ),
            Shape::Text { x, y, text, size, bold, anchor, upwards, ink } => {
                let turn = if *upwards {
                    format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"")
                } else {
                    String::new()
                };
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let is_word = text.chars().any(char::is_alphabetic);
                let width = if is_on_page && is_word && !bold {
                    format!(
                        " textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\"",
                        font::width(text, *size, false)
                    )
                } else {
                    String::new()
                };
                let weight = if *bold { " font-weight=\"500\"" } else { "" };
                write!(
                    out,
                    "<text class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" \
                     text-anchor=\"{anchor}\" fill=\"currentColor\"{width}{weight}{turn}>{}</text>",
                    ink.class(),
                    escaped(text)
                )
            }
        };
    }
}

/// The path from point to point.
fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" });
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Series};

    /// The name that a wide font cut, and the legend that it let overlap.
    #[test]
    fn words_of_a_page_have_the_width_that_is_there_for_them() {
        let name = "udp laptop:51503";
        let axis = Axis::new("").names([name]);
        let panel = Panel::new("Mean", Axis::new("delay, ms"), axis)
            .with(Series::intervals("queue", vec![(0.0, 3.0, 0.0)]))
            .with(Series::intervals("wire", vec![(3.0, 4.0, 0.0)]));
        let width = |text: &str| {
            let page = inline_svg(std::slice::from_ref(&panel), "a plot");
            let (before, _) = page.split_once(&format!(">{text}</text>")).expect("it is there");
            let (_, tag) = before.rsplit_once("<text").expect("its tag");
            let (_, width) = tag.split_once("textLength=\"").expect("its width");
            width.split('"').next().and_then(|it| it.parse::<f64>().ok()).expect("a number")
        };
        let is_near =
            |text: &str, size: f64| (width(text) - font::width(text, size, false)).abs() < 0.06;
        assert!(is_near(name, style::TICK_SIZE) && is_near("queue", style::LABEL_SIZE));
        assert!(!svg(std::slice::from_ref(&panel)).contains("textLength"), "files have their look");
    }
}
