//! Writes shapes as SVG. Colours are classes: a file has a style sheet and a white
//! background, an SVG inside a page takes the colours of the page, light or dark.
//! Coordinates have one decimal.

use super::layout::{Anchor, Drawing, Shape, layout};
use super::{Panel, style};
use std::fmt::Write;

/// Returns an SVG file with `panels`, one below the other.
pub fn svg(panels: &[Panel]) -> String {
    let drawing = layout(panels);
    let sheet = style::sheet("", false);
    let ground = "<rect class=\"ground\" width=\"100%\" height=\"100%\" fill=\"currentColor\"/>";
    let mut out = open(&drawing, " xmlns=\"http://www.w3.org/2000/svg\"");
    let _ = write!(out, "<style>{sheet}</style>{ground}");
    shapes(&mut out, &drawing);
    out
}

/// Returns an SVG element for an HTML page, whose style sheet sets the colours. `label`
/// is for screen readers.
pub fn inline_svg(panels: &[Panel], label: &str) -> String {
    let drawing = layout(panels);
    let mut out = open(&drawing, &format!(" role=\"img\" aria-label=\"{}\"", escaped(label)));
    shapes(&mut out, &drawing);
    out
}

/// Escapes text for SVG and HTML, also for attributes in double quotes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn open(drawing: &Drawing, attributes: &str) -> String {
    let (width, height) = (drawing.width, drawing.height.ceil());
    format!(
        "<svg{attributes} viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"{}\">",
        style::FONTS
    )
}

fn shapes(out: &mut String, drawing: &Drawing) {
    for shape in &drawing.shapes {
        let _ = match shape {
            Shape::Line { points, ink, width, dash } => {
                let mut path = String::new();
                for (index, (x, y)) in points.iter().enumerate() {
                    let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" });
                }
                let dash = dash
                    .map_or(String::new(), |[on, off]| format!(" stroke-dasharray=\"{on} {off}\""));
                write!(
                    out,
                    "<path class=\"{}\" d=\"{path}\" fill=\"none\" stroke=\"currentColor\" \
                     stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>",
                    ink.class()
                )
            }
            Shape::Box { x, y, width, height, ink, opacity } => write!(
                out,
                "<rect class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                 height=\"{height:.1}\" fill=\"currentColor\" fill-opacity=\"{opacity}\"/>",
                ink.class()
            ),
            Shape::Dot { x, y, radius, ink } => write!(
                out,
                "<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" \
                 fill=\"currentColor\"/>",
                ink.class()
            ),
            Shape::Text { x, y, text, size, bold, anchor, upwards, ink } => {
                let turn = match upwards {
                    true => format!(" transform=\"rotate(-90 {x:.1} {y:.1})\""),
                    false => String::new(),
                };
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let weight = if *bold { " font-weight=\"500\"" } else { "" };
                write!(
                    out,
                    "<text class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" \
                     text-anchor=\"{anchor}\" fill=\"currentColor\"{weight}{turn}>{}</text>",
                    ink.class(),
                    escaped(text)
                )
            }
        };
    }
    out.push_str("</svg>\n");
}
