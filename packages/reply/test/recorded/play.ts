import {
  createHandClock,
  createRecordedServer,
  type RecordedServer,
  type RecordingName,
  readRecording,
} from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { connect, type Reply, type ReplyError, type ReplyObserver } from '../../src/index.ts'
import { comparable, createListener, type Heard, knowable, type Picture } from './picture.ts'

/** A fault of the stream while a recording is played. `at` counts events. */
export type Fault =
  /** The connection ends, misses `missed` events, and reconnects. */
  | { readonly at: number; readonly type: 'cut'; readonly how: 'end' | 'error'; readonly missed: number }
  /** Events are lost on an open connection, until its silence is noticed. */
  | { readonly at: number; readonly type: 'stall'; readonly missed: number }
  /** The last event is sent again. */
  | { readonly at: number; readonly type: 'double' }
  /** Bytes that are not an event. */
  | { readonly at: number; readonly type: 'garbage' }
  /** A cut after which the next `count` requests fail. */
  | { readonly at: number; readonly type: 'refuse'; readonly how: 500 | 'html' | 'refused'; readonly count: number }

export interface Plan {
  readonly recording: RecordingName
  /** How many events happened before the client listens. Default 0. */
  readonly attachAt?: number
  /** How many events REST is ahead of the stream. Default 0. */
  readonly ahead?: number
  readonly faults?: readonly Fault[]
  /** Looks after each event that may end a run, so that `endedAt` is exact. */
  readonly stepwise?: boolean
}

export interface Played {
  readonly replies: readonly Reply[]
  readonly heard: readonly Heard[]
  readonly errors: readonly ReplyError[]
  /** The number of events after which nothing was at work any more; undefined if that never happened. */
  readonly endedAt: readonly (number | undefined)[]
}

const known = new Map<string, Uint8Array>()

/** A recording's bytes. Always the same array, whose frames the server parses only once. */
export function bytesOf(recording: RecordingName): Uint8Array {
  const key = `${recording.version}/${recording.scenario}`
  const bytes = known.get(key) ?? readRecording(recording).bytes
  known.set(key, bytes)
  return bytes
}

/** Plays a recording with a plan's faults to a real `connect`, on a hand clock. */
export async function play(plan: Plan): Promise<Played> {
  const { recording, attachAt = 0, ahead = 0, faults = [], stepwise = false } = plan
  const key = `${recording.version}/${recording.scenario}`
  const server = createRecordedServer({ bytes: bytesOf(recording), version: recording.version, ahead })
  server.publish(attachAt)
  const clock = createHandClock()
  const errors: ReplyError[] = []
  const rest = restOf(server)
  const opencode = connect({
    url: 'http://recorded',
    fetch: server.fetch,
    clock,
    random: () => 0.5,
    onError: (error) => errors.push(error),
  })
  const heard: Heard[] = []
  const endedAt: (number | undefined)[] = []
  // OpenCode 2 introduces a session only once: a client that missed that reads it, which takes less time than a run.
  const isSlow = isOpenCode2(recording.version)
  const observe = (): ReplyObserver[] => {
    const listener = createListener()
    heard.push(listener.heard)
    return [listener.observer]
  }
  opencode.watch({}, { observe })
  await rest()
  for (const fault of [...faults].sort((a, b) => a.at - b.at)) {
    await publishTo(fault.at)
    await suffer(fault)
  }
  await publishTo(server.length)
  if (!server.hasListener) await reconnect()
  for (
    let waitedMs = 0;
    waitedMs < 120_000 && (waitedMs < 3000 || heard.some(({ settled }) => settled === 0));
    waitedMs += 1000
  ) {
    await clock.advance(1000, rest)
  }
  await clock.advance(3000, rest)
  const replies = heard.flatMap(({ newest }) => (newest ? [newest] : []))
  await opencode.close()
  await rest()
  return { replies, heard, errors, endedAt }

  async function publishTo(end: number): Promise<void> {
    while (server.published < end) {
      if (!server.hasListener) await reconnect()
      const before = server.published
      server.publish(stepwise || isSlow ? Math.min(nextStep(), end - server.published) : end - server.published)
      await rest()
      if (server.published === before) throw new Error(`${key} stands still at ${before}.`)
      if (!stepwise || (await isBusy())) continue
      for (const index of heard.keys()) endedAt[index] ??= server.published
    }
  }

  /** How many events until one may end a run: those of parts don't. */
  function nextStep(): number {
    const types = server.types.slice(server.published)
    return (
      1 +
      Math.max(
        0,
        types.findIndex((type) => !/^(?:message\.part|session\.(?:text|reasoning|tool))\./.test(type)),
      )
    )
  }

  async function isBusy(): Promise<boolean> {
    const route = isOpenCode2(recording.version) ? '/api/session/active' : '/session/status'
    const response = await server.fetch(`http://recorded${route}`)
    return !['{}', '{"data":{}}'].includes(await response.text())
  }

  async function reconnect(): Promise<void> {
    for (let tries = 0; tries < 40 && !server.hasListener; tries++) await clock.advance(1000, rest)
    if (!server.hasListener) throw new Error(`${key}: the client did not reconnect.`)
  }

  /**
   * Publishes through passing states, because seconds will pass: no real run stays at its beginning or in the middle of
   * its end that long.
   */
  function passOn(): void {
    while (server.isPassing && server.published < server.length) server.publish()
  }

  async function suffer(fault: Fault): Promise<void> {
    switch (fault.type) {
      case 'cut':
        server.cut(fault.how)
        server.publish(fault.missed)
        return await reconnect()
      case 'stall':
        server.stall()
        server.publish(fault.missed)
        passOn()
        for (let waited = 0; waited < 100 && !server.hasListener; waited++) await clock.advance(1000, rest)
        return
      case 'refuse':
        server.cut('end')
        server.fail(fault.count, fault.how)
        passOn()
        return await reconnect()
      case 'double':
        server.repeat()
        return await rest()
      case 'garbage':
        server.inject('data: {"type":"message.updated","properties":{"info":7}}\n\ndata: nonsense\n\nnonsense\n\n')
        return await rest()
      default:
        return fault satisfies never
    }
  }
}

/** Waits until nothing moves: no request is being answered, and everything sent has been read. */
function restOf(server: RecordedServer): () => Promise<void> {
  return async () => {
    let calm = 0
    while (calm < 2) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      calm = server.answering === 0 ? calm + 1 : 0
    }
  }
}

/** The result of an uncut play. */
export interface Expected {
  readonly pictures: readonly Picture[]
  readonly endedAt: readonly (number | undefined)[]
}

const expectedBy = new Map<string, Promise<Expected>>()

/** Played once for all tests. */
export function expectedOf(recording: RecordingName): Promise<Expected> {
  const key = `${recording.version}/${recording.scenario}`
  const expected = expectedBy.get(key) ?? playUncut(recording)
  expectedBy.set(key, expected)
  return expected
}

async function playUncut(recording: RecordingName): Promise<Expected> {
  const { replies, endedAt } = await play({ recording, stepwise: true })
  return { pictures: replies.map(comparable), endedAt }
}

/** Late clients don't see what no server calls busy, what only an event reported, or what sub-agents did alone. */
function isUntellable({ recording: { scenario } }: Plan): boolean {
  return ['no-reply', 'shell', 'unknown-model', 'subagent-background', 'session-deleted'].includes(scenario)
}

const sealedOf = new Map<string, ReadonlySet<string>>()

/** Ids of the parts whose whole text the server sent in the end: whatever was missed, their seal or REST has it. */
function sealedIn(recording: RecordingName): ReadonlySet<string> {
  const key = `${recording.version}/${recording.scenario}`
  const known = sealedOf.get(key) ?? new Set(sealedParts(recording))
  sealedOf.set(key, known)
  return known
}

function sealedParts(recording: RecordingName): string[] {
  const { truth } = readRecording(recording)
  const messages = Object.values(truth.sessions).flatMap((session) => session.messages)
  const read = messages.map((message) => JSON.parse(JSON.stringify(message)))
  return read.flatMap(isOpenCode2(recording.version) ? storedParts : partsWithEnd)
}

/** OpenCode 2 stores a text when it has ended. */
function storedParts({
  id,
  content = [],
}: {
  id: string
  content?: readonly { type: string; text?: string }[]
}): string[] {
  const ordinals = new Map<string, number>()
  return content.flatMap(({ type, text }) => {
    const ordinal = ordinals.get(type) ?? 0
    ordinals.set(type, ordinal + 1)
    return text === undefined || text === '' ? [] : [`${id}.${type}.${ordinal}`]
  })
}

function partsWithEnd({ parts }: { parts: readonly { id: string; time?: { end?: number } }[] }): string[] {
  return parts.flatMap(({ id, time }) => (time?.end === undefined ? [] : [id]))
}

/** Checks a play: the same replies, consistent changes, and each reply ended once. */
export function judge(
  played: Played,
  { plan, expected }: { readonly plan: Plan; readonly expected: Expected },
): string[] {
  const problems: string[] = []
  const got = inKnownOrder(plan, ofLateComer(plan, played.replies.map(comparable)), expected)
  const sealed = sealedIn(plan.recording)
  const due = expectedFor(plan, { got, expected: ofLateComer(plan, expected.pictures) }).map((one, index) =>
    knowable(one, { got: got[index], sealed }),
  )
  const open = expected.endedAt.filter((at) => at !== undefined && at > (plan.attachAt ?? 0) + (plan.ahead ?? 0))
  if (got.length < open.length && !isUntellable(plan))
    problems.push(`${got.length} of ${open.length} replies were told`)
  if (JSON.stringify(got) !== JSON.stringify(due)) problems.push(`other replies: ${firstDifference(got, due)}`)
  for (const heard of played.heard) problems.push(...heard.problems)
  for (const { settled } of played.heard) if (settled !== 1) problems.push(`settled ${settled} times`)
  return problems
}

/** Replies of different sessions may be told in any order: these are in the order of the uncut play. */
function inKnownOrder(
  { recording }: Plan,
  got: readonly Picture[],
  { pictures }: Pick<Expected, 'pictures'>,
): readonly Picture[] {
  if (recording.scenario !== 'two-sessions') return got
  const firstIDs = pictures.map(({ messages }) => messages[0]?.id)
  return got.toSorted((a, b) => firstIDs.indexOf(a.messages[0]?.id) - firstIDs.indexOf(b.messages[0]?.id))
}

/** A late client can't know which sub-agents work in the background, and which reply contains their work. */
function ofLateComer({ attachAt = 0, recording }: Plan, pictures: readonly Picture[]): readonly Picture[] {
  if (attachAt === 0 || recording.scenario !== 'subagent-background') return pictures
  return pictures.filter(({ isOfChildren }) => !isOfChildren).map((one) => ({ ...one, children: [] }))
}

/**
 * A late client receives only replies that were still running; always including the recording's last one, unless that
 * had ended.
 */
function expectedFor(
  plan: Plan,
  { got, expected }: { got: readonly Picture[]; expected: readonly Picture[] },
): readonly Picture[] {
  const { scenario } = plan.recording
  // If nothing ran for a prompt, only its error says why: a client that missed it sees a prompt without an answer, or
  // nothing. An unanswered prompt is not news to a client that arrives later. Nor is a shell command that a person ran:
  // servers don't call that busy.
  if ((scenario === 'no-reply' || scenario === 'shell') && got.length === 0) return []
  // A session that was deleted before the client could ask for it is unknowable.
  if (
    scenario === 'session-deleted' &&
    (plan.faults?.length ?? 0) > 0 &&
    got.every(({ messages }) => messages.length === 0)
  )
    return expected.slice(0, got.length).map((one): Picture => ({ ...one, messages: [] }))
  // So is a prompt that was reverted before the client could ask.
  if (scenario === 'revert' && (plan.attachAt ?? 0) === 0 && got.length < expected.length)
    return expected.filter(({ messages }) => messages.length > 0)
  const isUnreported = scenario === 'unknown-model' && got.every(({ outcome }) => outcome !== 'failed')
  const due = isUnreported ? expected.map((one): Picture => ({ ...one, outcome: 'completed' })) : expected
  if ((plan.attachAt ?? 0) === 0 && !isUnreported)
    return got.length < due.length // A client that missed background sub-agents' work reads it as part of the reply that started them.
      ? due.filter((one) => !one.isOfChildren)
      : due
  return due.slice(Math.max(0, due.length - got.length))
}

function firstDifference(got: readonly unknown[], expected: readonly unknown[]): string {
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)]
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return `got …${a.slice(Math.max(0, at - 60), at + 120)}…, expected …${b.slice(Math.max(0, at - 60), at + 120)}…`
}
