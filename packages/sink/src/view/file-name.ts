import { escapeInvisible } from '@reply/core'
import type { Attachment } from '../port/port.ts'
import { clip } from './format.ts'

/**
 * Text formats that desktops open in an editor. A model chooses the language of a fence, and a person opens the file
 * with a double click. So the set excludes formats that a system or browser runs (scripts, HTML, SVG, XML, shortcuts),
 * and CSV, as spreadsheets evaluate its cells.
 */
const inertExtensions: ReadonlySet<string> = new Set([
  ...['txt', 'md', 'log', 'diff', 'patch', 'json', 'yaml', 'yml', 'toml', 'css', 'scss', 'sql', 'graphql', 'proto'],
  ...['c', 'h', 'cpp', 'hpp', 'cs', 'go', 'java', 'kt', 'rs', 'swift', 'ts', 'tsx'],
])

const extensions: ReadonlyMap<string, string> = new Map([
  ['typescript', 'ts'],
  ['rust', 'rs'],
  ['markdown', 'md'],
  ['csharp', 'cs'],
  ['c++', 'cpp'],
  ['kotlin', 'kt'],
  ['golang', 'go'],
])

/** Returns the extension for a fence's language, without a dot. `txt` for everything that is not known to be inert. */
export function fileExtension(language: string): string {
  const name = language.toLowerCase()
  const extension = extensions.get(name) ?? name
  return inertExtensions.has(extension) ? extension : 'txt'
}

/** The extensions of types that systems show or play, but don't run. */
const shownTypes: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['application/pdf', 'pdf'],
  ['application/zip', 'zip'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['application/vnd.openxmlformats-officedocument.presentationml.presentation', 'pptx'],
  ['audio/mpeg', 'mp3'],
  ['audio/ogg', 'ogg'],
  ['audio/wav', 'wav'],
  ['video/mp4', 'mp4'],
  ['video/webm', 'webm'],
])

const typesByExtension = new Map([...shownTypes].map(([type, extension]) => [extension, type]))

/** Types whose content is a text. */
const textType = /^(?:text\/|application\/(?:json|xml|javascript|x-sh)$|image\/svg)/

/**
 * Returns the extension that a file of this type always has. Undefined for a text, whose own extension counts if it is
 * inert. `bin` for a type that is not known to be harmless.
 */
function typeExtension(mime: string): string | undefined {
  const type = mime.replace(/;.*$/s, '').trim().toLowerCase()
  return textType.test(type) ? undefined : (shownTypes.get(type) ?? 'bin')
}

/** UTF-16 units before the extension. */
const stemLength = 80

/**
 * Device names, which Windows reserves with any extension.
 * https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 */
const device = /^(?:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])$/i

/**
 * Returns a name that every system can save and that opens as text, or as what its type says: one dot, an inert extension, and at most 80 units
 * before it. Path separators and dots become `-`, and invisible characters are written out as in `u202e`. An extension
 * that is not inert becomes part of the name before `.txt`. A file of another type than text has the extension of its type,
 * whatever its name says.
 */
export function safeFileName(name: string, mime = 'text/plain'): string {
  const seen = escapeInvisible(name)
  const dot = seen.lastIndexOf('.')
  const extension = dot < 0 ? '' : seen.slice(dot + 1).toLowerCase()
  const fixed = typeExtension(mime)
  const isInert = fixed === undefined ? inertExtensions.has(extension) : extension === fixed
  const parts = (isInert ? seen.slice(0, dot) : seen)
    .replace(/[^\p{L}\p{M}\p{N}_]|\p{Default_Ignorable_Code_Point}/gu, '-')
    .replace(/-{2,}/g, '-')
    .replace(/^-|-$/g, '')
  const stem = clip(parts, stemLength).replace(/[-…]+$/, '') || 'file'
  return `${device.test(stem) ? `${stem}_` : stem}.${fixed ?? (isInert ? extension : 'txt')}`
}

/**
 * Returns a file to post: with a safe name, and a media type that agrees with it. Every kind of text is `text/plain`, and a type
 * that is not known to be harmless is `application/octet-stream`.
 */
export function toAttachment(
  {
    name,
    mime = 'text/plain',
    bytes,
  }: { readonly name: string; readonly mime?: string | undefined } & Pick<Attachment, 'bytes'>,
  caption: string,
): Attachment {
  const extension = typeExtension(mime)
  const type = extension === undefined ? 'text/plain' : (typesByExtension.get(extension) ?? 'application/octet-stream')
  return { name: safeFileName(name, mime), mime: type, bytes, caption }
}
