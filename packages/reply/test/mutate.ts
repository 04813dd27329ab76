import type { Event } from '@opencode-ai/sdk/v2'

/** One frame of a recorded stream: its original text, with its time comment, and the parsed event. */
export interface Block {
  readonly text: string
  readonly frame: Event | undefined
}

export function blocksOf(bytes: Uint8Array): readonly Block[] {
  const texts = new TextDecoder().decode(bytes).split('\n\n')
  return texts.filter((text) => text !== '').map((text) => ({ text: `${text}\n\n`, frame: frameIn(text) }))
}

function frameIn(text: string): Event | undefined {
  const data = text.split('\n').find((line) => line.startsWith('data:'))
  const outer = data === undefined ? undefined : JSON.parse(data.slice(5))
  return outer?.payload ?? outer
}

export function joined(blocks: readonly Block[]): string {
  return blocks.map((block) => block.text).join('')
}

/** Whether a frame may be repeated immediately, or at any later time, without adding anything new. */
export function mayRepeat({ frame }: Block): 'later' | 'at once' | 'never' {
  if (!frame) return 'never'
  if ('id' in frame && typeof frame.id === 'string') return 'later'
  switch (frame.type) {
    case 'message.part.updated': {
      const { part } = frame.properties
      // Two running states of one call have no order.
      return part.type === 'tool' && part.state.status === 'running' ? 'at once' : 'later'
    }
    case 'message.updated':
    case 'question.asked':
    case 'question.replied':
    case 'question.rejected':
    case 'permission.asked':
    case 'permission.replied':
      return 'later'
    case 'session.created':
    case 'session.updated':
    case 'session.status':
    case 'session.idle':
    case 'session.compacted':
    case 'todo.updated':
      return 'at once'
    default:
      return 'never'
  }
}

/** The stream with some of its frames repeated. `repeats` has their indexes, and the maximum distance in frames. */
export function doubled(blocks: readonly Block[], repeats: ReadonlyMap<number, number>): readonly Block[] {
  const after = new Map<number, Block[]>()
  for (const [index, distance] of repeats) {
    const block = blocks[index]
    const may = block ? mayRepeat(block) : 'never'
    if (!block || may === 'never') continue
    const place = Math.min(lastPlace(blocks, index), index + (may === 'later' ? distance : 0))
    after.set(place, [...(after.get(place) ?? []), block])
  }
  return blocks.flatMap((block, index) => [block, ...(after.get(index) ?? [])])
}

/** A repetition stays within its connection, and a removed part is not repeated. */
function lastPlace(blocks: readonly Block[], index: number): number {
  const barriers = ['server.connected', 'message.part.removed']
  const next = blocks.findIndex(({ frame }, at) => at > index && frame !== undefined && barriers.includes(frame.type))
  return next === -1 ? blocks.length - 1 : next - 1
}

/** Indexes of the deltas whose part is sealed later: all of them can be missed. */
export function spareDeltas(blocks: readonly Block[]): readonly number[] {
  const sealed = new Map<string, number>()
  for (const [index, { frame }] of blocks.entries()) {
    if (frame?.type !== 'message.part.updated') continue
    const { part } = frame.properties
    if ((part.type === 'text' || part.type === 'reasoning') && part.time?.end !== undefined) sealed.set(part.id, index)
  }
  return blocks.flatMap(({ frame }, index) =>
    frame?.type === 'message.part.delta' && (sealed.get(frame.properties.partID) ?? -1) > index ? [index] : [],
  )
}
