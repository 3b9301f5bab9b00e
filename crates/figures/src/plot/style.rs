//! The look of plots: sizes in pixels of the SVG, colours for a light and a dark
//! background. The colours of series are based on those of Okabe and Ito, which
//! colour-blind people can distinguish; yellow is left out, because it is hardly
//! visible on white.

/// The size of a plot. Texts and lines have the same size in every plot, so a narrow plot is not
/// a wide plot scaled down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width of the plot.
    pub width: f64,
    /// Height of a panel's coordinate system.
    pub panel_height: f64,
    /// Approximate number of steps on an axis of x.
    pub steps_x: usize,
    /// Width of the widest name beside an axis of y.
    pub name_width_max: f64,
}

/// Size for files, paper and screens.
pub const WIDE: Size =
    Size { width: 880.0, panel_height: 280.0, steps_x: 10, name_width_max: 300.0 };
/// Size for the width of a phone.
pub const NARROW: Size =
    Size { width: 350.0, panel_height: 220.0, steps_x: 4, name_width_max: 96.0 };
/// Height of a row of intervals.
pub const LANE_HEIGHT: f64 = 34.0;
/// Space around a plot and between its panels.
pub const MARGIN: f64 = 18.0;
/// Space between a label and the labelled shape.
pub const GAP: f64 = 8.0;
/// Font size of titles.
pub const TITLE_SIZE: f64 = 15.0;
/// Font size of the labels of axes and of the legend.
pub const LABEL_SIZE: f64 = 13.0;
/// Font size of the numbers at the axes.
pub const TICK_SIZE: f64 = 12.0;
/// Width of the line of a series.
pub const LINE_WIDTH: f64 = 1.7;
/// Radius of a dot.
pub const DOT_RADIUS: f64 = 3.2;
/// Opacity of a band.
pub const BAND_OPACITY: f64 = 0.16;
/// Opacity of shaded ranges of x.
pub const SHADE_OPACITY: f64 = 0.13;
/// Opacity of series in grey.
pub const MUTED_OPACITY: f64 = 0.25;
/// Pixels of the PNG per pixel of the SVG.
pub const PNG_SCALE: f64 = 2.0;
/// Font families; the first one installed is used.
pub const FONTS: &str = "Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";

/// The dashes of the lines of series, by index modulo their number: lengths on and off.
const DASHES: [&[f64]; 6] = [
    &[],
    &[8.0, 4.0],
    &[2.5, 2.5],
    &[11.0, 3.0, 2.0, 3.0],
    &[5.0, 2.0],
    &[11.0, 3.0, 2.0, 3.0, 2.0, 3.0],
];

/// The dash of the line of the series with this index; empty for a solid line.
pub fn dash(index: usize) -> &'static [f64] {
    DASHES[index % DASHES.len()]
}

/// The shape of a dot. Different shapes distinguish series without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A circle around the point.
    Circle,
    /// A square that stands on a side.
    Square,
    /// A triangle that stands on a side.
    Triangle,
    /// A square that stands on a corner.
    Diamond,
    /// A triangle that stands on a corner.
    Wedge,
    /// A diagonal cross.
    Cross,
}

impl Marker {
    const ALL: [Self; 6] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Wedge, Self::Cross];

    /// Returns the marker of the series with this index.
    pub fn of_series(index: usize) -> Self {
        Self::ALL[index % Self::ALL.len()]
    }

    /// Returns the corners around a centre; the area is about that of a circle of this radius.
    /// A circle has no corners.
    pub fn corners(self, x: f64, y: f64, radius: f64) -> Vec<(f64, f64)> {
        let corners: &[(f64, f64)] = match self {
            Self::Circle => &[],
            Self::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Self::Triangle => &[(0.0, -1.3), (1.2, 0.85), (-1.2, 0.85)],
            Self::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Self::Wedge => &[(0.0, 1.3), (1.2, -0.85), (-1.2, -0.85)],
            Self::Cross => &[
                (-1.2, -0.6),
                (-0.6, -1.2),
                (0.0, -0.6),
                (0.6, -1.2),
                (1.2, -0.6),
                (0.6, 0.0),
                (1.2, 0.6),
                (0.6, 1.2),
                (0.0, 0.6),
                (-0.6, 1.2),
                (-1.2, 0.6),
                (-0.6, 0.0),
            ],
        };
        corners.iter().map(|(right, down)| (x + right * radius, y + down * radius)).collect()
    }
}

/// The paint of a shape. The colour depends on the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Titles and labels.
    Text,
    /// Numbers at the axes.
    Muted,
    /// Lines of the grid.
    Grid,
    /// The line of the x axis.
    Axis,
    /// Shaded ranges of x.
    Shade,
    /// The colour of the background.
    Ground,
    /// The series with this index.
    Series(usize),
}

/// The inks of series: class, colour on white, colour on a dark background: blue,
/// vermilion, green, purple, orange, sky. Series beyond the sixth repeat them.
const SERIES: [(&str, u32, u32); 6] = [
    ("s0", 0x00_72_b2, 0x56_b4_e9),
    ("s1", 0xd5_5e_00, 0xf5_8a_3c),
    ("s2", 0x00_9e_73, 0x2f_c9_9b),
    ("s3", 0xb8_5c_93, 0xe3_97_c3),
    ("s4", 0xc8_86_00, 0xf0_b9_3a),
    ("s5", 0x3b_9c_d6, 0x9a_d4_f5),
];

const OTHERS: [(Ink, &str, u32, u32); 6] = [
    (Ink::Text, "text", 0x1d_23_2b, 0xe6_e9_ee),
    (Ink::Muted, "muted", 0x5b_65_72, 0x9a_a5_b3),
    (Ink::Grid, "grid", 0xe3_e7_ec, 0x2c_34_3e),
    (Ink::Axis, "axis", 0x9a_a4_b0, 0x5b_66_73),
    (Ink::Shade, "shade", 0x5b_65_72, 0x9a_a5_b3),
    (Ink::Ground, "ground", 0xff_ff_ff, 0x16_1b_22),
];

impl Ink {
    /// The class of the ink in an SVG.
    pub fn class(self) -> &'static str {
        self.row().0
    }

    /// The colour on white, as 0xRRGGBB.
    pub fn light(self) -> u32 {
        self.row().1
    }

    fn row(self) -> (&'static str, u32, u32) {
        match self {
            Self::Series(index) => SERIES[index % SERIES.len()],
            other => {
                let is_it = |row: &&(Ink, &str, u32, u32)| row.0 == other;
                let row = OTHERS.iter().find(is_it).expect("every other ink is in the list");
                (row.1, row.2, row.3)
            }
        }
    }
}

/// Returns the colours as a style sheet, in which each class sets `color`. `scope`
/// precedes each class, such as `.plot `.
pub fn sheet(scope: &str, dark: bool) -> String {
    let inks = (0..SERIES.len()).map(Ink::Series).chain(OTHERS.iter().map(|row| row.0));
    let rule = |ink: Ink| {
        let (class, on_light, on_dark) = ink.row();
        let colour = if dark { on_dark } else { on_light };
        format!("{scope}.{class}{{color:#{colour:06x}}}")
    };
    inks.map(rule).collect()
}
