import type { ReplyFile } from '../part.ts'

/** Facts about a file for people. Texts may contain any characters: escape them for your output. */
export interface FileFacts {
  /** Its name without folders: the reported one, or else the end of its address, or else its type. Never empty. */
  readonly name: string
  /** Its size in bytes. Undefined if unknown. */
  readonly size: number | undefined
  /** Its address. Undefined if the reply has its content. */
  readonly link: string | undefined
  /** The text to show with it, without blanks around it. Undefined if it has none. */
  readonly caption: string | undefined
}

/** The facts of a file. Without a name, an address and a type, it is called `file`. */
export function fileFacts({ mime, url, filename = '', size, caption = '' }: ReplyFile): FileFacts {
  const link = /^data:/i.test(url) || url === '' ? undefined : url
  const name = lastSegment(filename) || lastSegment(pathIn(link ?? '')) || mime.trim() || 'file'
  return { name, size, link, caption: caption.trim() || undefined }
}

/** The path in an address, decoded where that is possible. A path stays. */
function pathIn(address: string): string {
  const path = address.replace(/^[a-z][a-z0-9+.-]+:(?:\/\/[^/?#]*)?([^?#]*).*$/is, '$1')
  if (path === address) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** What is behind the last slash. Empty if there is nothing. */
function lastSegment(path: string): string {
  return path.trim().split(/[/\\]/).at(-1) ?? ''
}
