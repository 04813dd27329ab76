/** Returns the id of a file that a tool call returned. Sources give it none that lasts. */
export function attachmentID(partID: string, index: number): string {
  return `${partID}.file.${index}`
}

/**
 * Returns the number of bytes in a `data:` URL. Undefined for any other URL, and if its content is not plain Base64:
 * reading it tells then whether it is malformed.
 */
export function dataSize(url: string): number | undefined {
  const [, head, content = ''] = /^data:([^,]*),(.*)$/is.exec(url) ?? []
  if (head === undefined) return undefined
  if (!/;\s*base64\s*$/i.test(head)) return new TextEncoder().encode(content.replace(/%[0-9a-f]{2}/gi, '%')).length
  const digits = /^([A-Za-z0-9+/_-]*)={0,2}$/.exec(content)?.[1]
  return digits === undefined ? undefined : Math.floor((digits.length * 3) / 4)
}

/** Returns the content of a `data:` URL. Undefined for any other URL, and if its Base64 is malformed. */
export function dataBytes(url: string): Uint8Array | undefined {
  const [, head, content = ''] = /^data:([^,]*),(.*)$/is.exec(url) ?? []
  if (head === undefined) return undefined
  const bytes = percentDecoded(content)
  if (!/;\s*base64\s*$/i.test(head)) return bytes
  const digits = new TextDecoder().decode(bytes).replace(/\s/g, '')
  const isWhole = /^[A-Za-z0-9+/_-]*={0,2}$/.test(digits) && digits.replace(/=/g, '').length % 4 !== 1
  return isWhole ? base64Decoded(digits) : undefined
}

/** Returns the bytes of a text whose `%` and two digits stand for a byte, which need not be UTF-8. */
function percentDecoded(text: string): Uint8Array {
  const encoded = new TextEncoder().encode(text)
  if (!text.includes('%')) return encoded
  const bytes = new Uint8Array(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; at++) {
    const digits = String.fromCharCode(encoded[at + 1] ?? 0, encoded[at + 2] ?? 0)
    const isByte = encoded[at] === percent && /^[0-9a-f]{2}$/i.test(digits)
    bytes[length++] = isByte ? Number.parseInt(digits, 16) : (encoded[at] ?? 0)
    if (isByte) at += 2
  }
  return bytes.subarray(0, length)
}

const percent = 0x25

/** Returns the bytes of Base64, also of the variant for URLs. */
function base64Decoded(digits: string): Uint8Array {
  const decoded = atob(digits.replace(/-/g, '+').replace(/_/g, '/').replace(/=/g, ''))
  const bytes = new Uint8Array(decoded.length)
  for (let at = 0; at < decoded.length; at++) bytes[at] = decoded.charCodeAt(at)
  return bytes
}
