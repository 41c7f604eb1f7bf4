// A small chart of the last values, the newest at the right. Its label has the numbers in words.

interface Props {
  /** Values from the oldest to the newest; undefined where nothing is known. */
  values: readonly (number | undefined)[];
  /** Places of the chart; fewer values leave the left empty. */
  places: number;
  label: string;
}

const HEIGHT = 40;

/** Returns the runs of known values as points. */
function runsOf(values: readonly (number | undefined)[], places: number, most: number): [number, number][][] {
  const runs: [number, number][][] = [[]];
  values.forEach((value, at) => {
    if (value === undefined) runs.push([]);
    else runs.at(-1)!.push([places - values.length + at, HEIGHT - 1 - (value / most) * (HEIGHT - 4)]);
  });
  return runs.filter((run) => run.length > 0);
}

export function Sparkline({ values, places, label }: Props) {
  const most = Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE);
  return (
    <svg className="sparkline" viewBox={`0 0 ${places - 1} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {runsOf(values, places, most).map((run) => {
        const line = run.map(([x, y]) => `${x} ${y}`).join("L");
        return (
          <g key={run[0]![0]}>
            <path className="area" d={`M${run[0]![0]} ${HEIGHT}L${line}L${run.at(-1)![0]} ${HEIGHT}Z`} />
            <path className="line" d={`M${line}`} />
          </g>
        );
      })}
    </svg>
  );
}
