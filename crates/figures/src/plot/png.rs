//! Writes shapes as PNG, on a white background, at `PNG_SCALE` pixels per pixel of the
//! SVG. Text is drawn as outlines, so no font needs to be installed. Leaves out the
//! colours for a dark background.

use super::layout::{Anchor, Shape, layout};
use super::style::{Ink, Marker, PNG_SCALE};
use super::{Panel, font};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};

/// Returns the bytes of a PNG file with `panels`, one below the other.
pub fn png(panels: &[Panel]) -> Vec<u8> {
    let drawing = layout(panels);
    let pixels = |length: f64| (length * PNG_SCALE).ceil().max(1.0) as u32;
    let mut image = Pixmap::new(pixels(drawing.width), pixels(drawing.height))
        .expect("a plot is neither empty nor too large");
    image.fill(colour(Ink::Ground, 1.0));
    let scale = Transform::from_scale(PNG_SCALE as f32, PNG_SCALE as f32);
    for shape in &drawing.shapes {
        draw(&mut image, shape, scale);
    }
    image.encode_png().expect("an image in memory can be encoded")
}

fn draw(image: &mut Pixmap, shape: &Shape, scale: Transform) {
    match shape {
        Shape::Line { points, ink, width, dash } => {
            let lengths = dash.iter().map(|&length| length as f32).collect();
            let dash = if dash.is_empty() { None } else { StrokeDash::new(lengths, 0.0) };
            let stroke = Stroke {
                width: *width as f32,
                line_join: LineJoin::Round,
                dash,
                ..Stroke::default()
            };
            if let Some(path) = path(points).finish() {
                image.stroke_path(&path, &paint(*ink, 1.0), &stroke, scale, None);
            }
        }
        Shape::Box { x, y, width, height, ink, opacity } => {
            let [x, y, width, height] = [*x, *y, *width, *height].map(|length| length as f32);
            if let Some(rect) = Rect::from_xywh(x, y, width, height) {
                image.fill_rect(rect, &paint(*ink, *opacity), scale, None);
            }
        }
        Shape::Area { points, ink, opacity } => {
            let mut builder = path(points);
            builder.close();
            if let Some(path) = builder.finish() {
                let paint = paint(*ink, *opacity);
                image.fill_path(&path, &paint, FillRule::Winding, scale, None);
            }
        }
        Shape::Dot { x, y, radius, marker, ink } => {
            let outline = match marker {
                Marker::Circle => PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32),
                other => {
                    let mut builder = path(&other.corners(*x, *y, *radius));
                    builder.close();
                    builder.finish()
                }
            };
            if let Some(path) = outline {
                image.fill_path(&path, &paint(*ink, 1.0), FillRule::Winding, scale, None);
            }
        }
        Shape::Text { x, y, text, size, bold, anchor, upwards, ink } => {
            let shift = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -font::width(text, *size, *bold) / 2.0,
                Anchor::End => -font::width(text, *size, *bold),
            };
            let turn = if *upwards { Transform::from_rotate(-90.0) } else { Transform::identity() };
            let place = Transform::from_translate(shift as f32, 0.0)
                .post_concat(turn)
                .post_translate(*x as f32, *y as f32)
                .post_concat(scale);
            if let Some(path) = font::outline(text, *size, *bold) {
                image.fill_path(&path, &paint(*ink, 1.0), FillRule::Winding, place, None);
            }
        }
    }
}

/// The path from point to point.
fn path(points: &[(f64, f64)]) -> PathBuilder {
    let mut builder = PathBuilder::new();
    for (index, &(x, y)) in points.iter().enumerate() {
        match index {
            0 => builder.move_to(x as f32, y as f32),
            _ => builder.line_to(x as f32, y as f32),
        }
    }
    builder
}

fn paint(ink: Ink, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(colour(ink, opacity));
    paint
}

fn colour(ink: Ink, opacity: f64) -> Color {
    let [_, red, green, blue] = ink.light().to_be_bytes();
    Color::from_rgba8(red, green, blue, (opacity * 255.0) as u8)
}
