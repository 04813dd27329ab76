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
