import { generateTurn, type WireEvent } from './turn.ts'

/** The stored history of a session, and what a server answers about it. */
export interface History {
  readonly sessionID: string
  /** Each message as JSON text, in the server's order. */
  readonly messages: readonly string[]
  /** The server's REST responses, as JSON text by path. */
  readonly restAnswers: Readonly<Record<string, string>>
}

const begin = 1_790_000_000_000
const minuteMs = 60_000
/** Messages of a turn: the prompt and three steps, two with a tool call. */
const perTurn = 4

/** Returns a busy session with that many messages, a multiple of four, whose last answer is under way. */
export function generateHistory(messageCount: number): History {
  const sessionID = 'ses_1fd20000historythathasgrown'
  const turns = Array.from({ length: messageCount / perTurn }, (_, at) => {
    const options = { deltas: 90, partDeltas: 30, seed: `${at}`, sessionID, isNew: false, at: begin + at * minuteMs }
    return generateTurn(options).events
  })
  const last = turns.at(-1) ?? []
  const underWay = last.slice(
    0,
    last.findLastIndex(({ type }) => type === 'message.part.delta'),
  )
  const session = { id: sessionID, projectID: 'global', directory: '/project', title: 'A long session' }
  const time = { created: begin, updated: begin + turns.length * minuteMs }
  const messages = [...turns.slice(0, -1), underWay].flatMap(storedMessages).map((message) => JSON.stringify(message))
  return {
    sessionID,
    messages,
    restAnswers: {
      [`/session/${sessionID}`]: JSON.stringify({ ...session, time }),
      [`/session/${sessionID}/message`]: `[${messages.join(',')}]`,
      [`/session/${sessionID}/todo`]: '[]',
      [`/session/${sessionID}/children`]: '[]',
      '/session/status': JSON.stringify({ [sessionID]: { type: 'busy' } }),
    },
  }
}

/** Returns the server's stored state of some events: the last of each message, and of each part of a known message. */
function storedMessages(events: readonly WireEvent[]): readonly object[] {
  const messages = new Map<string, { readonly info: object; readonly parts: Map<string, object> }>()
  for (const { properties } of events) {
    if ('info' in properties && hasID(properties.info)) {
      const { info } = properties
      messages.set(info.id, { info, parts: messages.get(info.id)?.parts ?? new Map() })
    }
    if ('part' in properties && hasID(properties.part)) {
      const { part } = properties
      if ('messageID' in part && typeof part.messageID === 'string')
        messages.get(part.messageID)?.parts.set(part.id, part)
    }
  }
  return [...messages.values()].map(({ info, parts }) => ({ info, parts: [...parts.values()] }))
}

function hasID(value: unknown): value is { readonly id: string } {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
}
