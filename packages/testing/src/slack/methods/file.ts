import { fieldsOf } from '../../recorded/frames.ts'
import { mentionsInMrkdwn } from '../mention.ts'
import { listIn, type Payload, required, textIn } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { fileFields } from '../shared-file.ts'
import { channelIn, putPost, type SlackState } from '../state.ts'
import { type Result, threadIn } from './chat.ts'

export function getUploadUrl(state: SlackState, payload: Payload, base: string): Result {
  const name = required(payload, 'filename')
  const length = Number(required(payload, 'length'))
  if (!(length > 0)) throw new Refusal('invalid_arguments', '[ERROR] length must be greater than 0')
  const id = state.nextId('F')
  state.uploads.set(id, { name, length })
  return { file_id: id, upload_url: `${base}/upload/${id}` }
}

export function completeUpload(state: SlackState, payload: Payload): Result {
  const given = listIn(payload, 'files', 'invalid_arguments') ?? []
  const channel = channelIn(state, payload, 'channel_id')
  const threadTs = threadIn(channel, payload)
  const text = textIn(payload, 'initial_comment') ?? ''
  state.mentions.push(...mentionsInMrkdwn(text))
  for (const { id: named } of given.map(fieldsOf)) {
    const id = String(named)
    const upload = state.uploads.get(id)
    if (!upload?.bytes) throw new Refusal('file_not_found')
    state.uploads.delete(id)
    const file = { id, name: upload.name, bytes: upload.bytes }
    state.files.set(id, file)
    const shown = { text, mode: 'plain', rows: [] } as const
    putPost(state, channel, { from: 'bot', threadTs, fallback: text, shown, blocks: [], file })
  }
  return { files: given }
}

/** Includes where the file was shared. */
export function fileInfo(state: SlackState, payload: Payload): Result {
  const id = required(payload, 'file')
  const file = state.files.get(id)
  if (!file) throw new Refusal('file_not_found')
  const channel = textIn(payload, 'channel')
  const shares = state.sharesOf(id).filter((share) => channel === undefined || share.channel === channel)
  const byChannel = Object.fromEntries(shares.map((share) => [share.channel, [{ ts: share.ts }]]))
  return { file: { ...fileFields(state, file), shares: { public: byChannel } } }
}
