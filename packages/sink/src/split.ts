export interface Slice {
  readonly from: number
  readonly to: number
  readonly source: string
}
export function split(
  source: string,
  { maxLength, from = 0 }: { maxLength: number; measure: (text: string) => number; from?: number },
): readonly Slice[] {
  const slices: Slice[] = []
  for (let at = from; at < source.length || slices.length === 0; at += maxLength) {
    const to = Math.min(source.length, at + maxLength)
    slices.push({ from: at, to, source: source.slice(at, to) })
    if (to >= source.length) break
  }
  return slices
}
