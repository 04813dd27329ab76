import type { ReplyFile } from '@reply/core'
import { isLoadable } from '@reply/core/internal'
import type { UIChunk } from '../chunk.ts'

/** Returns the chunk of a file. One that a browser can't load is only named. */
export function fileChunk({ id, mime, url, filename, size, caption }: ReplyFile): UIChunk {
  const named = { ...(filename !== undefined && { filename }), ...(caption !== undefined && { caption }) }
  if (isLoadable(url))
    return { type: 'file', url, mediaType: mime, providerMetadata: { reply: { part: id, ...named } } }
  return { type: 'data-file', id, data: { id, mime, ...named, ...(size !== undefined && { size }) } }
}
