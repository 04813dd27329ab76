/** A place that a person shares. */
export interface SharedPlace {
  /** In degrees. */
  readonly latitude: number
  /** In degrees. */
  readonly longitude: number
  readonly name?: string | null | undefined
  readonly address?: string | null | undefined
}

/** Returns a place as a text, for example `Location: Zytglogge, Bern (46.948, 7.4475)`. */
export function textOfPlace({ latitude, longitude, name, address }: SharedPlace): string {
  const named = [name, address].filter((one) => one)
  const point = `${latitude}, ${longitude}`
  return named.length === 0 ? `Location: ${point}` : `Location: ${named.join(', ')} (${point})`
}

/** Returns a contact that a person shares as a text, for example `Contact: Ann Lee, +41 31 000 00 00`. */
export function textOfContact(name: string, phones: readonly string[]): string {
  return `Contact: ${[name, ...phones].filter((one) => one !== '').join(', ')}`
}
