import {
  callTool,
  type FaultProxy,
  holdAnswer,
  launchOpencode,
  type OpencodeServer,
  type PassedFrame,
  type ProxyFault,
  type ScriptedModel,
  type Scripts,
  sayText,
  scenarioToken,
  startModel,
  startProxy,
  think,
} from '@reply/testing'
import {
  type Change,
  type Client,
  type ConnectOptions,
  connect,
  type Reply,
  type ReplyError,
  type ReplyStream,
} from '../../src/index.ts'
import { createListener, type Heard } from '../recorded/picture.ts'
import { differences, type Judged } from './live-truth.ts'
import { eventually, within } from './patience.ts'

const todos = (...statuses: readonly string[]) => ({
  todos: ['Look around', 'Count', 'Tell'].map((content, index) => ({
    id: String(index + 1),
    content,
    status: statuses[index] ?? 'pending',
    priority: 'medium',
  })),
})
const bash = (command: string) => callTool('bash', { command, description: 'Do it' })
const task = (script: string) =>
  callTool('task', { description: 'Do a part', prompt: `Do it. ${scenarioToken(script)}`, subagent_type: 'general' })
const colours = ['Red', 'Blue'].map((label) => ({ label, description: '' }))

/** The scripts behind the proxy. Commands that touch something need a permission. */
const scripts: Scripts = {
  rich: {
    steps: [
      [
        think('The user wants a look around. First I plan the work.'),
        sayText('I will read the notes and count their lines.'),
        callTool('todowrite', todos('completed', 'in_progress')),
        callTool('read', { filePath: 'notes.txt' }),
        bash('wc -l notes.txt'),
      ],
      [think('All is known.'), sayText('The notes have three lines:\n\n- one\n- two\n- three\n\nThat is all.', 3)],
    ],
  },
  question: {
    steps: [
      [
        sayText('One thing. '),
        callTool('question', { questions: [{ header: 'Colour', question: 'Which?', options: colours }] }),
      ],
      [sayText('As you like.')],
    ],
  },
  permission: { steps: [[sayText('May I? '), bash('touch asked-for.txt')], [sayText('I did.')]] },
  late: { steps: [[sayText('May I? '), bash('touch late.txt')], [sayText('I did.')]] },
  child: { steps: [[sayText('I delegate. '), task('permission')], [sayText('The child is done.')]] },
  lateChild: { steps: [[sayText('I delegate. '), task('late')], [sayText('The child is done.')]] },
  holding: { steps: [[sayText('The beginning, '), holdAnswer('end'), sayText('and the end.')]] },
  plain: { steps: [[think('Hm.'), sayText('Hello there, this is an answer in some pieces.')]] },
}

export interface Faulty {
  readonly server: OpencodeServer
  readonly model: ScriptedModel
  /** Kills the server as a crash would, and starts it again. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** A real server that has already done a turn: the first one in a directory takes seconds. */
export async function openFaulty(version?: string): Promise<Faulty> {
  const model = await startModel({ scripts, fallback: 'plain' })
  const server = await launchOpencode({
    model,
    files: { 'notes.txt': 'one\ntwo\nthree\n' },
    // Git snapshots take most of a turn's time; no event depends on them.
    config: { extra: { snapshot: false }, permission: { bash: { '*': 'allow', 'touch *': 'ask' } } },
    ...(version !== undefined && { version }),
  })
  const close = async (): Promise<void> => {
    await server.stop()
    await model.close()
  }
  const opencode = connect({ url: server.url, directory: server.directory })
  await opencode.prompt({ text: scenarioToken('rich') }).result
  await opencode.close()
  const restart = async (): Promise<void> => {
    await server.kill()
    await server.restart()
  }
  return { server, model, restart, close }
}

/** Ten times as fast as the real clock, so that waits of seconds take tenths. */
export const quickClock = {
  now: () => Date.now(),
  after: (delayMs: number, run: () => void) => {
    const timer = setTimeout(run, Math.min(delayMs / 10, 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}

/**
 * Durations on the quick clock. Heartbeats follow the server's clock, every 100 s of this one. Waits for the server are
 * as long as a busy machine may need.
 */
export const quick = {
  clock: quickClock,
  backOff: { minMs: 50, maxMs: 500 },
  firstFrameMs: 600_000,
  silenceMs: 1_000_000,
  deadlineMs: 600_000,
  connectTimeoutMs: 600_000,
  lostAfterMs: 3_000_000,
  graceMs: 3000,
  waitMs: 3000,
} satisfies Partial<ConnectOptions>

/** Longer than a run takes on a busy machine. */
const hangsAfterMs = 120_000

/** How long initial differences may take to disappear, if the plan's own judgement decides that. */
const settlesWithinMs = 60_000

export interface LivePlan {
  /** Which script; default "rich". */
  readonly script?: string
  readonly faults?: readonly ProxyFault[]
  readonly connect?: Partial<ConnectOptions>
  /** Called with each frame after it went out. */
  readonly onFrame?: ((frame: PassedFrame, proxy: FaultProxy) => void) | undefined
  /** Whether the server is restarted meanwhile, so that the reply may end as lost. */
  readonly restarts?: boolean
  /** What a person does while it runs. */
  readonly act?: (scene: Scene) => Promise<void>
}

export interface Scene {
  readonly stream: ReplyStream
  readonly proxy: FaultProxy
  readonly opencode: Client
  /** The errors passed to `onError` so far. */
  readonly errors: readonly ReplyError[]
}

export interface LivePlayed extends Judged {
  /** Events on the first connection. */
  readonly events: number
  /** The changes of the prompt's stream, in order. */
  readonly changes: readonly Change[]
}

/** Sends one prompt through its own proxy to the warm server, in a new session, and waits for its end. */
export async function playLive({ server }: Faulty, plan: LivePlan): Promise<LivePlayed> {
  let events = 0
  const onFrame = (frame: PassedFrame): void => {
    if (frame.connection === 1) events = frame.event
    plan.onFrame?.(frame, proxy)
  }
  const proxy: FaultProxy = await startProxy({ target: server.url, faults: plan.faults ?? [], onFrame })
  const errors: ReplyError[] = []
  const opencode = connect({
    url: proxy.url,
    directory: server.directory,
    ...quick,
    ...plan.connect,
    onError: (error) => errors.push(error),
  })
  const watched = new Map<string, Heard>()
  opencode.watch(
    {},
    {
      observe: (reply) => {
        const { heard, observer } = createListener()
        watched.set(reply.sessionID, heard)
        return [observer]
      },
    },
  )
  const own = createListener()
  const stream = opencode.prompt(
    { text: `Go. ${scenarioToken(plan.script ?? 'rich')}` },
    { observe: () => [own.observer] },
  )
  try {
    const changes = gather(stream)
    const words = () => `no end; its newest: ${JSON.stringify(brief(stream.reply))}`
    const [reply] = await Promise.all([
      within(hangsAfterMs, stream.result, words),
      plan.act?.({ stream, proxy, opencode, errors }),
    ])
    // Events after an aborted run's end amend the reply, and so does what REST could not return before it.
    await eventually(settlesWithinMs, async () => {
      const newest = own.heard.newest ?? reply
      const found = await differences(server, newest)
      return found.length === 0 && newest.promptIDs.length > 0 ? true : undefined
    }).catch(() => {})
    const seen = watched.get(reply.sessionID)
    return {
      reply: own.heard.newest ?? reply,
      heard: [own.heard, ...(seen ? [seen] : [])],
      ends: (await changes).filter((change) => change.type === 'replySettled').length,
      changes: await changes,
      errors,
      posts: proxy.count('POST', /\/prompt_async$/),
      events,
    }
  } finally {
    await opencode.close()
    await proxy.close()
  }
}

/** A server, and what a run on it is without a fault. */
export async function openWhole(): Promise<{ readonly faulty: Faulty; readonly whole: LivePlayed }> {
  const faulty = await openFaulty()
  return { faulty, whole: await playLive(faulty, {}) }
}

async function gather(stream: ReplyStream): Promise<readonly Change[]> {
  const changes: Change[] = []
  for await (const change of stream) changes.push(change)
  return changes
}

function brief(reply: Reply | undefined): unknown {
  if (!reply) return 'none'
  const { sessionID, phase, connection, messages } = reply
  return { sessionID, phase, connection, messages: messages.map(({ finish, parts }) => [finish, parts.length]) }
}
