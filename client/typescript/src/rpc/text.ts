import { configureTextEncoding, getTextEncoding } from "@bufbuild/protobuf/wire";

const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf);

/** Keeps byte order marks, which Protobuf-ES drops at the beginning of strings, changing appended text. */
export function keepByteOrderMarks(): void {
  const encoding = getTextEncoding();
  if (encoding.decodeUtf8(BYTE_ORDER_MARK) !== "") return;
  const decoder = (fatal: boolean) => new TextDecoder("utf-8", { ignoreBOM: true, fatal });
  const [lenient, strict] = [decoder(false), decoder(true)];
  configureTextEncoding({ ...encoding, decodeUtf8: (bytes, isStrict) => (isStrict ? strict : lenient).decode(bytes) });
}
