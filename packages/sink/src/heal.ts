export function heal(source: string): string {
  return source
}
