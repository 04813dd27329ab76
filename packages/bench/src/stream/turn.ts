import { createHash } from 'node:crypto'

/** One generated run of a session: the events of a 1.18 server, and the same text for other libraries. */
export interface Turn {
  readonly sessionID: string
  /** The server's events, without their ids. */
  readonly events: readonly WireEvent[]
  /** The deltas of each text part. */
  readonly texts: readonly (readonly string[])[]
}

/** An event as a server sends it, without its id. */
export interface WireEvent {
  readonly type: string
  readonly properties: object
}

interface TurnShape {
  readonly deltas: number
  /** Maximum deltas in one part. */
  readonly partDeltas?: number | undefined
  /** Makes this turn's ids differ from the next one's. */
  readonly seed?: string | undefined
  readonly sessionID?: string | undefined
  /** True if the turn creates its session. Default true. */
  readonly isNew?: boolean | undefined
  /** When it begins, in ms since the epoch. */
  readonly at?: number | undefined
}

const model = { providerID: 'fake', modelID: 'm1' }
const commonWords = [
  'the',
  'stream',
  'of',
  'a',
  'server',
  'is',
  'read,',
  'cut',
  'into',
  'events',
  'and',
  'reduced',
  'to',
  'one',
  'reply.',
]
const rareWords = ['—', 'naïve', '`code`', '\n\n', '→']

/**
 * Returns a generated run: steps of one text part and one tool call each, until the deltas are used up. The same for
 * the same shape.
 */
export function generateTurn(options: TurnShape): Turn {
  const { deltas, partDeltas = 5000, seed = '', isNew = true, at: start = 1_790_000_000_000 } = options
  let count = 0
  let at = start
  const sessionID = options.sessionID ?? newID('ses')
  const promptID = newID('msg')
  const events: WireEvent[] = []
  const texts: string[][] = []

  const info = {
    id: sessionID,
    projectID: 'global',
    directory: '/project',
    title: 'A generated session',
    time: { created: at, updated: at },
  }
  if (isNew) addEvent('session.created', { info })
  addEvent('message.updated', {
    info: { id: promptID, role: 'user', sessionID, time: { created: at }, agent: 'build', model },
  })
  addPart(promptID, { id: newID('prt'), type: 'text', text: 'Please tell.' })
  addEvent('session.status', { status: { type: 'busy' } })
  for (let left = deltas; left > 0; left -= partDeltas) addStep(Math.min(left, partDeltas), left <= partDeltas)
  addEvent('session.status', { status: { type: 'idle' } })
  addEvent('session.idle', {})
  return { sessionID, events, texts }

  /** Adds a step: a text of `deltaCount` deltas, and a tool call unless it is the last step. */
  function addStep(deltaCount: number, isLast: boolean): void {
    const id = newID('msg')
    const reason = isLast ? 'stop' : 'tool-calls'
    const spent = { input: 120, output: deltaCount, reasoning: 0, cache: { read: 0, write: 0 } }
    const head = {
      id,
      parentID: promptID,
      role: 'assistant',
      mode: 'build',
      agent: 'build',
      path: { cwd: '/project', root: '/project' },
      cost: 0,
      tokens: spent,
      ...model,
      sessionID,
    }
    const created = at
    addEvent('message.updated', { info: { ...head, time: { created } } })
    addPart(id, { id: newID('prt'), type: 'step-start', snapshot: newID('tree') })
    texts.push(addText(id, deltaCount))
    if (!isLast) addTool(id)
    addPart(id, { id: newID('prt'), type: 'step-finish', reason, tokens: spent, cost: 0 })
    addEvent('message.updated', { info: { ...head, finish: reason, time: { created } } })
    addEvent('message.updated', { info: { ...head, finish: reason, time: { created, completed: at } } })
  }

  /** Adds a text part, and returns its deltas. */
  function addText(messageID: string, deltaCount: number): string[] {
    const part = { id: newID('prt'), type: 'text' }
    const time = { start: at }
    addPart(messageID, { ...part, text: '', time })
    const pieces = Array.from({ length: deltaCount }, (_, index) => pieceOf(index))
    for (const delta of pieces) addEvent('message.part.delta', { messageID, partID: part.id, field: 'text', delta })
    addPart(messageID, { ...part, text: pieces.join(''), time: { ...time, end: at } })
    return pieces
  }

  /** Adds a call that is pending, running and completed. */
  function addTool(messageID: string): void {
    const call = { id: newID('prt'), type: 'tool', tool: 'bash', callID: newID('call') }
    const input = { command: 'npm test', description: 'Runs the tests' }
    addPart(messageID, { ...call, state: { status: 'pending', input: {}, raw: '' } })
    addPart(messageID, { ...call, state: { status: 'running', input, time: { start: at } } })
    const state = {
      status: 'completed',
      input,
      output: 'ok\n'.repeat(200),
      title: 'Runs the tests',
      metadata: { exit: 0 },
    }
    addPart(messageID, { ...call, state: { ...state, time: { start: at, end: at + 40 } } })
  }

  /** Adds an update of a message's part. */
  function addPart(messageID: string, part: object): void {
    addEvent('message.part.updated', { part: { ...part, messageID, sessionID }, time: at })
  }

  /** Adds an event of the session, a millisecond after the one before. */
  function addEvent(type: string, properties: object): void {
    at += 1
    events.push({ type, properties: { sessionID, ...properties } })
  }

  /** Returns a new id, greater than all before, and different from those of another seed. */
  function newID(prefix: string): string {
    count += 1
    return idOf(prefix, count, seed)
  }
}

/**
 * Returns the JSON of each event, with ids like one server's: they increase through the whole stream, from
 * `firstNumber` on.
 */
export function framesOf(events: readonly WireEvent[], firstNumber = 0): readonly string[] {
  return events.map((event, index) => JSON.stringify({ id: idOf('evt', firstNumber + index, ''), ...event }))
}

/** Returns an id as long as the server's, which increases with `count`, with an ending that looks random. */
export function idOf(prefix: string, count: number, seed: string): string {
  const end = createHash('sha1').update(`${seed} ${count}`).digest('base64url').slice(0, 14)
  return `${prefix}_1fd2${(count + 0x10000000).toString(16)}${end}`
}

/** Returns a word and its space, like a token. At every 41st index, one that isn't plain Latin. */
export function pieceOf(index: number): string {
  const word =
    index % 41 === 40 ? rareWords[((index / 41) % rareWords.length) | 0] : commonWords[index % commonWords.length]
  return index % 3 === 2 ? ` ${word}, ` : ` ${word}`
}
