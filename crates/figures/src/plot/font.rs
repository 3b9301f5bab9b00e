//! The font of plots: the width of a text, and its outlines for the PNG. The fonts are
//! part of the program (`fonts/README.md`); an SVG names them, and others of similar
//! width for computers without them.

use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, OutlineBuilder};

const REGULAR: &[u8] = include_bytes!("../../fonts/Roboto-Regular.ttf");
const MEDIUM: &[u8] = include_bytes!("../../fonts/Roboto-Medium.ttf");

fn face(bold: bool) -> Face<'static> {
    let bytes = if bold { MEDIUM } else { REGULAR };
    Face::parse(bytes, 0).expect("the font is part of the program, and a test reads it")
}

/// The glyphs of a text, each with its position and its advance in units of the font.
fn glyphs<'a>(
    face: &'a Face<'static>,
    text: &'a str,
) -> impl Iterator<Item = (ttf_parser::GlyphId, f64, f64)> + 'a {
    let mut pen = 0.0;
    text.chars().map(move |letter| {
        let glyph = face.glyph_index(letter).or_else(|| face.glyph_index('?')).unwrap_or_default();
        let advance = f64::from(face.glyph_hor_advance(glyph).unwrap_or(0));
        let at = pen;
        pen += advance;
        (glyph, at, advance)
    })
}

/// The width of `text` in pixels at `size` pixels.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    let face = face(bold);
    let units: f64 = glyphs(&face, text).map(|(_, _, advance)| advance).sum();
    units * size / f64::from(face.units_per_em())
}

/// The outlines of `text` at `size` pixels, with the base line starting at the origin
/// and y downwards; `None` if nothing is visible.
pub fn outline(text: &str, size: f64, bold: bool) -> Option<Path> {
    let face = face(bold);
    let mut pen = Pen { path: PathBuilder::new(), at: 0.0 };
    for (glyph, at, _) in glyphs(&face, text) {
        pen.at = at as f32;
        let _ = face.outline_glyph(glyph, &mut pen);
    }
    let scale = (size / f64::from(face.units_per_em())) as f32;
    pen.path.finish()?.transform(Transform::from_scale(scale, -scale))
}

struct Pen {
    path: PathBuilder,
    at: f32,
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.at + x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.at + x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.at + x1, y1, self.at + x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.at + x1, y1, self.at + x2, y2, self.at + x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_width_and_outlines() {
        for bold in [false, true] {
            assert!(width("Mb/s", 12.0, bold) > 20.0);
            assert!(width("iiii", 12.0, bold) < width("mmmm", 12.0, bold));
            let bounds = outline("Mb/s", 12.0, bold).expect("letters").bounds();
            assert!(bounds.right() < 30.0 && bounds.top() < -8.0 && bounds.bottom() > 0.0);
        }
        assert!(outline(" ", 12.0, false).is_none());
    }

    #[test]
    fn the_signs_that_labels_use_are_there() {
        let face = face(false);
        for letter in
            "abcXYZ019.,:;%/()+-\u{2212}\u{2013}\u{d7}\u{b5}\u{2265}\u{2264}\u{2019}\u{201c}\u{2026}"
                .chars()
        {
            assert!(face.glyph_index(letter).is_some(), "{letter}");
        }
    }
}
