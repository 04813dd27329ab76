import { fieldsOf } from '../../recorded/frames.ts'
import { mentionsIn } from '../mention.ts'
import { listIn, type Payload, required, textIn } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, putPost, type World } from '../world.ts'
import { type Result, threadIn } from './chat.ts'

export function getUploadUrl(world: World, payload: Payload, base: string): Result {
  const name = required(payload, 'filename')
  const length = Number(required(payload, 'length'))
  if (!(length > 0)) throw new Refusal('invalid_arguments', '[ERROR] length must be greater than 0')
  const id = world.nextId('F')
  world.uploads.set(id, { name, length })
  return { file_id: id, upload_url: `${base}/upload/${id}` }
}

export function completeUpload(world: World, payload: Payload): Result {
  const given = listIn(payload, 'files', 'invalid_arguments') ?? []
  const channel = channelIn(world, payload, 'channel_id')
  const threadTs = threadIn(channel, payload)
  const text = textIn(payload, 'initial_comment') ?? ''
  world.mentions.push(...mentionsIn(text))
  for (const { id: named } of given.map(fieldsOf)) {
    const id = String(named)
    const upload = world.uploads.get(id)
    if (!upload?.bytes) throw new Refusal('file_not_found')
    world.uploads.delete(id)
    const file = { id, name: upload.name, bytes: upload.bytes }
    world.files.set(id, file)
    const shown = { text, mode: 'plain', rows: [] } as const
    putPost(world, channel, { from: 'bot', threadTs, fallback: text, shown, blocks: [], file })
  }
  return { files: given }
}

/** Includes where the file was shared. */
export function fileInfo(world: World, payload: Payload): Result {
  const id = required(payload, 'file')
  const file = world.files.get(id)
  if (!file) throw new Refusal('file_not_found')
  const channel = textIn(payload, 'channel')
  const shares = world.sharesOf(id).filter((share) => channel === undefined || share.channel === channel)
  const byChannel = Object.fromEntries(shares.map((share) => [share.channel, [{ ts: share.ts }]]))
  return { file: { id, name: file.name, shares: { public: byChannel } } }
}
