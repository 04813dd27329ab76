import { oneLine } from '@reply/sink/internal'

/** The most bytes of a file name in UTF-8, because most file systems have no longer ones. */
const mostNameBytes = 255
/** The most bytes of an ending that a cut name keeps, with its dot. */
const mostEndingBytes = 16

/**
 * Returns the name of a person's file for agents and chats: what is behind the last slash, in one line, with hidden characters
 * written out, and cut before its ending. A name is text of a person, agents write it into the model's prompt, and some store files
 * by it. So it names no folder, neither `.` nor `..`. `file` if nothing is left.
 */
export function fileNameOf(reported: string): string {
  const segment = reported.trim().split(/[/\\]/).at(-1) ?? ''
  // Hidden characters are written out with a backslash, which divides folders on Windows.
  const name = oneLine(segment, segment.length * 8).replaceAll('\\', '_')
  return /^\.*$/.test(name) ? 'file' : withinLimit(name)
}

/** Returns a name within the limit. Keeps the ending, by which agents and people know the type. */
function withinLimit(name: string): string {
  if (bytesOf(name) <= mostNameBytes) return name
  const [ending = ''] = /\.\w+$/.exec(name) ?? []
  const kept = bytesOf(ending) <= mostEndingBytes ? `…${ending}` : '…'
  let stem = ''
  let left = mostNameBytes - bytesOf(kept)
  for (const character of name) {
    left -= bytesOf(character)
    if (left < 0) break
    stem += character
  }
  return `${stem.trimEnd()}${kept}`
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}
