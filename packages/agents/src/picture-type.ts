/** How the pictures begin that models take. */
const signatures: readonly { readonly type: string; readonly pattern: RegExp }[] = [
  { type: 'image/png', pattern: /^\x89PNG\r\n/ },
  { type: 'image/jpeg', pattern: /^\xff\xd8\xff/ },
  { type: 'image/gif', pattern: /^GIF8[79]a/ },
  { type: 'image/webp', pattern: /^RIFF.{4}WEBP/s },
]

/** Returns the MIME type of a picture, by its first 16 bytes. Undefined if it is not a PNG, JPEG, GIF or WebP. */
export function pictureType(bytes: Buffer): string | undefined {
  const begin = bytes.toString('latin1', 0, 16)
  return signatures.find(({ pattern }) => pattern.test(begin))?.type
}
