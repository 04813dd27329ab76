/** The JSON in a text, or in a body of UTF-8. Undefined if there is none. */
export function jsonOf(given: Uint8Array | string): unknown {
  const text = typeof given === 'string' ? given : utf8Of(given)
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A body's text. Undefined if the bytes aren't UTF-8. */
export function utf8Of(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}
