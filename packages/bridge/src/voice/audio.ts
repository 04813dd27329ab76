import type { InboundFile } from '@reply/sink'

/** Names of kinds of audio without their parameters, with the ending of a file name that programs and services know. */
const endings: Readonly<Record<string, string>> = {
  'audio/ogg': 'ogg',
  'audio/opus': 'ogg',
  'application/ogg': 'ogg',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/mp4': 'm4a',
  'audio/m4a': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/aac': 'aac',
  'audio/amr': 'amr',
  'audio/webm': 'webm',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
}

/** Returns a media type in lower case without its parameters: `audio/ogg; codecs=opus` becomes `audio/ogg`. */
function bareType(mime: string): string {
  return mime.split(';', 1).join('').trim().toLowerCase()
}

/** Media types by the ending of a file name. Not WebM, which mostly is video. */
const typesByEnding: ReadonlyMap<string, string> = new Map([
  ...Object.entries(endings).flatMap(([type, ending]) => (ending === 'webm' ? [] : [[ending, type] as const])),
  ['opus', 'audio/ogg'],
  ['oga', 'audio/ogg'],
])

/** Types of files whose type the client of a person did not know. */
const unknownTypes: ReadonlySet<string> = new Set(['', 'application/octet-stream'])

/** Returns the media type of a file, or that of its name if its own is unknown and the name has an ending of audio. */
export function audioTypeOf({ mime, name }: Pick<InboundFile, 'mime' | 'name'>): string {
  if (!unknownTypes.has(bareType(mime))) return mime
  const [, ending = ''] = /\.(\w+)$/.exec(name) ?? []
  return typesByEnding.get(ending.toLowerCase()) ?? mime
}

/** Whether a file is a voice note or other audio, by its media type. By its name, if the type is unknown. */
export function isAudio(file: Pick<InboundFile, 'mime' | 'name'>): boolean {
  const type = bareType(audioTypeOf(file))
  return type.startsWith('audio/') || type === 'application/ogg'
}

/** Returns the ending of a file name for a media type. `bin` for an unknown one. */
export function endingOf(mime: string): string {
  return endings[bareType(mime)] ?? 'bin'
}

/** Samples of Opus in a second, whatever was recorded. https://www.rfc-editor.org/rfc/rfc7845#section-4 */
const opusRate = 48_000

/**
 * Returns how long an Ogg file with Opus says that it is, in seconds: the position in the header of its last page. Undefined
 * for any other file. https://www.rfc-editor.org/rfc/rfc3533#section-6
 */
export function opusSeconds(bytes: Uint8Array): number | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const isOpus = file.subarray(0, 4).equals(pageMark) && file.subarray(0, 128).includes('OpusHead')
  const last = file.lastIndexOf(pageMark)
  if (!isOpus || last + 14 > file.length) return undefined
  // -1 on a page where no packet ends.
  const position = file.readBigInt64LE(last + 6)
  return position < 0 ? undefined : Number(position) / opusRate
}

const pageMark = Buffer.from('OggS')

/**
 * Returns how long a WAV file is, in seconds, from its first bytes and its size. Undefined for any other file. Ignores chunks
 * beside the samples, which are small. https://www.mmsp.ece.mcgill.ca/Documents/AudioFormats/WAVE/WAVE.html
 */
export function wavSeconds(head: Uint8Array, size: number): number | undefined {
  const file = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  if (file.length < 32 || file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 12, 16) !== 'fmt ')
    return undefined
  const bytesInSecond = file.readUInt32LE(28)
  return bytesInSecond === 0 ? undefined : (size - 44) / bytesInSecond
}

/**
 * Bytes of speech in a frame of 20 ms of AMR, by the type of the frame. Then come silence, and frames without content. The rest is reserved.
 * https://www.rfc-editor.org/rfc/rfc4867#section-5.3, and table 1a of 3GPP TS 26.101 and TS 26.201.
 */
const amrFrames: readonly { readonly mark: string; readonly bytes: readonly number[] }[] = [
  { mark: '#!AMR\n', bytes: [12, 13, 15, 17, 19, 20, 26, 31, 5] },
  { mark: '#!AMR-WB\n', bytes: [17, 23, 32, 36, 40, 46, 50, 58, 60, 5] },
]

/** Returns how long a recording in AMR with one channel is, in seconds. Undefined for any other file. */
export function amrSeconds(bytes: Uint8Array): number | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 16)).toString('latin1')
  const kind = amrFrames.find(({ mark }) => start.startsWith(mark))
  if (!kind) return undefined
  let frames = 0
  for (let at = kind.mark.length; at < bytes.length; frames++) at += 1 + (kind.bytes[((bytes[at] ?? 0) >> 3) & 15] ?? 0)
  return frames / 50
}
