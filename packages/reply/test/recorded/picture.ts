import type { Change, Observation, Part, Reply, ReplyObserver } from '../../src/index.ts'

/**
 * The parts of a reply that must be the same with and without faults. Excludes times, closed asks, and what a retry
 * replaced.
 */
export function comparable(reply: Reply): Picture {
  const isOfChildren = reply.messages.length === 0 && reply.children.length > 0
  return {
    outcome: reply.outcome,
    finish: reply.finish,
    todos: reply.todos,
    // On OpenCode 2 only the stream tells of a summary's call.
    steps: reply.usage.steps - (reply.summaries?.length ?? 0),
    messages: reply.messages.map((message) => ({
      id: message.id,
      error: message.error?.name,
      finish: message.finish,
      parts: message.parts.filter((part) => part.status !== 'abandoned').map(comparablePart),
    })),
    isOfChildren,
    // Which reply contains a background sub-agent's work depends on when its end arrived.
    children: reply.children
      .filter(
        (child) =>
          child.reply.phase === 'settled' && !child.background && !(isOfChildren && child.callID === undefined),
      )
      .map((child) => ({ callID: child.callID, title: child.title, reply: comparable(child.reply) }))
      // In the order of their calls, because a late client receives them in another order.
      .toSorted((a, b) => ((a.callID ?? '~') < (b.callID ?? '~') ? -1 : 1)),
  }
}

export interface Picture {
  readonly outcome: string | undefined
  readonly finish: string | undefined
  readonly todos: unknown
  readonly steps: number
  readonly messages: readonly MessagePicture[]
  /** Whether only sub-agents worked in it. */
  readonly isOfChildren: boolean
  readonly children: readonly ChildPicture[]
}

interface ChildPicture {
  readonly callID: string | undefined
  readonly title: string | undefined
  readonly reply: Picture
}

interface MessagePicture {
  readonly id: string
  readonly error: string | undefined
  readonly finish: string | undefined
  readonly parts: readonly PartPicture[]
}

interface PartPicture {
  readonly id: string
  readonly type: string
  readonly status: string
  readonly text?: string | undefined
  readonly holes?: readonly number[] | undefined
  readonly tool?: unknown
}

function comparablePart(part: Part): PartPicture {
  const { id, type, status, holes } = part
  if (part.type === 'tool') {
    const { tool, state } = part
    return { id, type, status, tool: [tool, state.status, state.output, state.error] }
  }
  return { id, type, status, text: textIn(part), holes }
}

interface Known {
  readonly got: Picture | undefined
  /** Ids of the parts whose whole text the server has. */
  readonly sealed: ReadonlySet<string>
}

/**
 * The expected picture, reduced to what a client that missed events can know. Only listeners know a text that its
 * server never stored: it may lack the missed part, and its hole says so. In a run that was lost with its server, or
 * deleted, even whole parts may be missing.
 */
export function knowable(expected: Picture, { got, sealed }: Known): Picture {
  if (!got) return expected
  // An idle in the gap and nothing stored: an abort then looks like the end of a server.
  const isUnreported = expected.outcome === 'aborted' && got.outcome === 'lost' && !expected.messages.some(hasEnded)
  return {
    ...expected,
    outcome: isUnreported ? 'lost' : expected.outcome,
    messages: expected.messages.map((message, index) => {
      const seen = got.messages[index]
      if (!seen || seen.id !== message.id) return message
      const isLost = expected.outcome === 'lost'
      const parts = message.parts.filter((part) => !isLost || seen.parts.some(({ id }) => id === part.id))
      return {
        ...message,
        parts: parts.map((part) =>
          knowablePart(
            part,
            seen.parts.find(({ id }) => id === part.id),
            isLost || !sealed.has(part.id),
          ),
        ),
      }
    }),
    children: expected.children.map((child, index) => knowableChild(child, { got: got.children[index], sealed })),
  }
}

/** The call of a background sub-agent was in a reply that was over before the client listened. */
function knowableChild(
  child: ChildPicture,
  { got, sealed }: { readonly got: ChildPicture | undefined; readonly sealed: ReadonlySet<string> },
): ChildPicture {
  const reply = knowable(child.reply, { got: got?.reply, sealed })
  return got && got.callID === undefined ? { ...got, reply } : { ...child, reply }
}

function hasEnded({ error, finish }: MessagePicture): boolean {
  return error !== undefined || (finish !== undefined && finish !== 'tool-calls')
}

function knowablePart(part: PartPicture, seen: PartPicture | undefined, isForgotten: boolean): PartPicture {
  const isForgiven = isForgotten && seen !== undefined
  return seen && isForgiven && isPieceOf(seen.text ?? '', part.text ?? '') ? seen : part
}

/** Whether the piece consists of a few stretches of the whole, in order: nothing duplicated, nothing foreign. */
function isPieceOf(piece: string, whole: string): boolean {
  let [from, rest, stretches] = [0, piece, 0]
  while (rest !== '' && stretches < 6) {
    let length = rest.length
    while (length > 0 && whole.indexOf(rest.slice(0, length), from) === -1) length -= 1
    if (length === 0) return false
    from = whole.indexOf(rest.slice(0, length), from) + length
    rest = rest.slice(length)
    stretches += 1
  }
  return rest === ''
}

/** What one observer received of one reply, and the errors in it. */
export interface Heard {
  newest: Reply | undefined
  settled: number
  readonly problems: string[]
}

/** An observer that trusts nothing: it follows each part by its changes alone. */
export function createListener(): { readonly heard: Heard; readonly observer: ReplyObserver } {
  const heard: Heard = { newest: undefined, settled: 0, problems: [] }
  const texts = new Map<string, string | undefined>()
  const observer: ReplyObserver = Object.fromEntries(
    changeTypes.map((type) => [type, (observation: Observation) => hear(observation)]),
  )
  return { heard, observer }

  function hear(observation: Observation): void {
    heard.newest = observation.reply
    if (heard.settled > 0 && observation.type !== 'replyAmended')
      heard.problems.push(`${observation.type} after the end`)
    if (observation.type === 'replySettled') {
      heard.settled += 1
      compareTexts(observation.reply)
    }
    followPart(observation)
  }

  function followPart(change: Change): void {
    if (change.type === 'partAdded') texts.set(change.part.id, textIn(change.part))
    else if (change.type === 'partRemoved') texts.delete(change.part.id)
    else if (change.type === 'partChanged' || change.type === 'partFinalized') {
      const { part } = change
      if (!texts.has(part.id)) heard.problems.push(`${change.type} of a part that was never added`)
      const delta = change.type === 'partChanged' ? change.delta : undefined
      const before = texts.get(part.id)
      texts.set(part.id, delta === undefined || before === undefined ? textIn(part) : before + delta)
    }
  }

  function compareTexts(reply: Reply): void {
    for (const part of reply.messages.flatMap((message) => message.parts)) {
      if (part.status === 'abandoned' || textIn(part) === texts.get(part.id)) continue
      heard.problems.push(`a part told as ${JSON.stringify(texts.get(part.id))} is ${JSON.stringify(textIn(part))}`)
    }
  }
}

function textIn(part: Part): string | undefined {
  return part.type === 'text' || part.type === 'reasoning' ? part.text : undefined
}

const changeTypes: readonly Change['type'][] = [
  'replyStarted',
  'phaseChanged',
  'messageUpdated',
  'messageRemoved',
  'partAdded',
  'partChanged',
  'partFinalized',
  'partRemoved',
  'toolProgressed',
  'stepFinished',
  'todosChanged',
  'usageChanged',
  'questionAsked',
  'questionReplied',
  'questionRejected',
  'permissionAsked',
  'permissionReplied',
  'askChanged',
  'askWithdrawn',
  'sessionRetried',
  'sessionErrored',
  'compactionChanged',
  'childStarted',
  'childChanged',
  'childSettled',
  'connectionChanged',
  'stalledChanged',
  'replySettled',
  'replyAmended',
]
