const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Returns a number with separators: 12,345. */
export const whole = (value: number | bigint): string => WHOLE.format(value);

/** Returns a number in few characters: 12.3K. */
export const short = (value: number | bigint): string => SHORT.format(value);

/** Returns a size: "1.4 MB". */
export function bytes(value: number | bigint): string {
  const size = Number(value);
  if (size < 1000) return `${size} B`;
  if (size < 1_000_000) return `${(size / 1000).toFixed(1)} kB`;
  return `${(size / 1_000_000).toFixed(1)} MB`;
}
