import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import { type Attachment, PortError } from '@reply/sink/channel'
import { pause } from '@reply/sink/internal'
import type { SlackFields } from '../api.ts'
import type { Call } from '../call.ts'
import { fallbackLength } from '../limits.ts'
import { refOf } from '../place.ts'
import { escapedTo } from '../render.ts'

export interface Uploading {
  readonly call: Call
  readonly channelId: string
  readonly clock: Clock
  readonly thread: SlackFields
  /** Ends the calls before their deadline. */
  readonly signal: AbortSignal
}

/** Slack posts the file's message a moment after the upload: how often to look for it, and the ms between. */
const looks = 4
const lookMs = 500

/** Slack's external upload: get a URL, send the bytes, share the file. The client's `files.uploadV2` does all three. */
export async function upload(
  { name, text, caption }: Attachment,
  { call, channelId, clock, thread, signal }: Uploading,
): Promise<MessageRef> {
  const options = {
    ...{ channel_id: channelId, ...thread, filename: name, title: name },
    // Slack refuses empty files.
    content: text === '' ? '\n' : text,
    ...(caption !== '' && { initial_comment: escapedTo(unlinked(caption), fallbackLength) }),
  }
  const { files } = await call('files.uploadV2', options, { verb: 'upload', signal })
  const file = idIn(files)
  if (file === undefined) throw new PortError('ambiguous', `upload in ${channelId}: Slack's response contains no file.`)
  for (let look = 0; look < looks; look++) {
    if (look > 0) await pause(clock, lookMs, signal)
    const ts = await messageOf(file, { call, channelId, signal })
    if (ts !== undefined) return refOf(ts)
  }
  return { id: file }
}

/** A comment's addresses would get link previews, which this call can't turn off. */
function unlinked(text: string): string {
  return text.replace(/:(?=\/\/)|\bwww(?=\.)/gi, '$&\u2060')
}

/**
 * Finds the file's message. Returns undefined if the lookup fails, as without its scope; the file id then serves as the
 * ref.
 */
async function messageOf(
  file: string,
  { call, channelId, signal }: Pick<Uploading, 'call' | 'channelId' | 'signal'>,
): Promise<string | undefined> {
  try {
    const { file: found } = await call('files.info', { file }, { verb: 'look at a file', signal })
    const shares = Object.values(fieldsIn(fieldsIn(found).shares)).map(fieldsIn)
    const [share] = shares.flatMap((byChannel) => listIn(byChannel[channelId]))
    const { ts } = fieldsIn(share)
    return typeof ts === 'string' ? ts : undefined
  } catch {
    // The upload itself succeeded, so a failed lookup is not an error.
    return undefined
  }
}

function idIn(files: unknown): string | undefined {
  const [completed] = listIn(files)
  const [file] = listIn(fieldsIn(completed).files)
  const { id } = fieldsIn(file)
  return typeof id === 'string' ? id : undefined
}

function fieldsIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
