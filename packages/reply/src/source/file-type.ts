import type { Model } from '../reply.ts'
import type { ModelInfo } from './server-data.ts'

/**
 * A kind of file in a prompt. `image` is a PNG, JPEG, GIF or WebP, which are the pictures that models read, and `text` is any file
 * in UTF-8.
 */
export type FileKind = 'image' | 'pdf' | 'text' | 'audio' | 'video'

const mediaKinds = ['image', 'pdf', 'audio', 'video'] as const satisfies readonly FileKind[]

/** Returns `text`, which every model reads, and the other kinds for which `reads` is true. */
export function takenKinds(reads: (kind: FileKind) => boolean): readonly FileKind[] {
  return ['text', ...mediaKinds.filter(reads)]
}

/**
 * Returns the kinds of files that a model takes. Without a known model, those that any model of the list takes. Undefined if the
 * list doesn't tell.
 */
export function takesOf(
  models: readonly (Model & Pick<ModelInfo, 'takes'>)[],
  model: Model | undefined,
): readonly FileKind[] | undefined {
  const found = models.find((one) => one.providerID === model?.providerID && one.modelID === model.modelID)
  if (found) return found.takes
  if (models.length === 0 || models.some(({ takes }) => takes === undefined)) return undefined
  return takenKinds((kind) => models.some(({ takes = [] }) => takes.includes(kind)))
}

/** What a file is. */
export interface FileType {
  /** Undefined for every other kind, for example an archive. */
  readonly kind: FileKind | undefined
  /** The MIME type of the content if that tells, and the reported one otherwise. A text is `text/plain`. */
  readonly mime: string
}

/** How files begin. */
const signatures: readonly { readonly mime: string; readonly kind: FileKind; readonly pattern: RegExp }[] = [
  { mime: 'image/png', kind: 'image', pattern: /^\x89PNG\r\n/ },
  { mime: 'image/jpeg', kind: 'image', pattern: /^\xff\xd8\xff/ },
  { mime: 'image/gif', kind: 'image', pattern: /^GIF8[79]a/ },
  { mime: 'image/webp', kind: 'image', pattern: /^RIFF.{4}WEBP/s },
  { mime: 'application/pdf', kind: 'pdf', pattern: /^%PDF-/ },
]

/**
 * Finds out what a file is, by its content, because chats report types that are not checked. A sound or a video counts by its
 * reported type.
 */
export function fileTypeOf(bytes: Uint8Array, reported: string): FileType {
  const begin = String.fromCharCode(...bytes.subarray(0, 16))
  const signed = signatures.find(({ pattern }) => pattern.test(begin))
  if (signed) return { kind: signed.kind, mime: signed.mime }
  const [, media] = /^(audio|video)\//i.exec(reported) ?? []
  if (media !== undefined) return { kind: media.toLowerCase() === 'audio' ? 'audio' : 'video', mime: reported }
  return isText(bytes) ? { kind: 'text', mime: 'text/plain' } : { kind: undefined, mime: reported }
}

/** Whether it is UTF-8 without a zero byte, and not empty. */
function isText(bytes: Uint8Array): boolean {
  if (bytes.length === 0 || bytes.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}
