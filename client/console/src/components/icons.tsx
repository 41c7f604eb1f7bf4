// Icons of 16 by 16, drawn with lines of the color of their text.

const PATHS = {
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1v1.4M8 13.6V15M1 8h1.4M13.6 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1Z",
  display: "M2 3h12v8H2zM6 14h4M8 11v3",
  sessions: "M2.5 3.5h11M2.5 8h11M2.5 12.5h7",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.5 10.5 14 14",
  exit: "M6 2.5H3v11h3M10 5l3 3-3 3M13 8H6.5",
  down: "M8 2.5v11M3.5 9 8 13.5 12.5 9",
  tool: "M9.8 6.2a3.3 3.3 0 0 0 4-4L11.5 4.4 9.9 4.2 9.7 2.6 12 .5a3.3 3.3 0 0 0-4 4.2L2 10.5A1.8 1.8 0 0 0 4.6 13Z",
  check: "m3 8.5 3.3 3.3L13 4.5",
  cross: "m4 4 8 8M12 4l-8 8",
  fold: "M2.5 8h11M8 1.5v4M6 3.8l2 1.9 2-1.9M8 14.5v-4M6 12.2l2-1.9 2 1.9",
  thought: "M8 2a5 5 0 0 0-2.6 9.2V13h5.2v-1.8A5 5 0 0 0 8 2ZM6 15h4",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  link: "M6.5 9.5a3 3 0 0 0 4.3 0l2-2a3 3 0 0 0-4.3-4.3l-1 1M9.5 6.5a3 3 0 0 0-4.3 0l-2 2a3 3 0 0 0 4.3 4.3l1-1",
  window: "M2 3h12v10H2zM2 6.2h12",
  overview: "M2.5 13.5v-5M8 13.5v-11M13.5 13.5v-8",
  memory: "M4 2.5h8v11L8 10.8 4 13.5Z",
  changes: "M1.5 8h3l2-5 3 10 2-5h3",
  access: "M5 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 8h6.5M14 8v2.5M11.5 8v2",
  policy: "M8 1.8 13 4v4c0 3-2 5-5 6.2C5 13 3 11 3 8V4Z",
  fork: "M4.5 5.5v5M4.5 7.5c0 2 7 .5 7-2M4.5 2.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3ZM11.5 2.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3ZM4.5 10.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3Z",
  right: "m6 3.5 4.5 4.5L6 12.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
