/** Returns a size for people: `999 B`, from 1000 on in whole `kB`, and from 1,000,000 on in `MB` with one decimal. */
export function byteSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
