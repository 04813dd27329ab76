import type { ReplyFile } from '@reply/core'
import type { UIChunk } from '../chunk.ts'

/** What a page may load. A path on the agent's computer means nothing there, and a script must not run. */
const loadable = /^(?:https?:\/\/|data:)/i

/** Returns the chunk of a file. One that a browser can't load is only named. */
export function fileChunk({ id, mime, url, filename, size, caption }: ReplyFile): UIChunk {
  const named = { ...(filename !== undefined && { filename }), ...(caption !== undefined && { caption }) }
  if (loadable.test(url))
    return { type: 'file', url, mediaType: mime, providerMetadata: { reply: { part: id, ...named } } }
  return { type: 'data-file', id, data: { id, mime, ...named, ...(size !== undefined && { size }) } }
}
