import { launchOpencode, openCode2Password, promptFor, type Scenario, startModel } from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { driverFor } from '../../../../testing/scripts/drivers/all.ts'
import { createKit, createWire, type Kit } from '../../../../testing/scripts/kit.ts'
import { type Frame, startTape } from '../../../../testing/scripts/tape.ts'
import {
  type Client,
  type ConnectOptions,
  connect,
  type PromptInput,
  type Reply,
  type ReplyStream,
} from '../../../src/index.ts'
import { observing } from '../../observing.ts'
import { eventually, within } from '../patience.ts'

export interface Observed {
  readonly reply: Reply
  /** How often it settled. */
  readonly ends: number
}

export interface MatrixRun {
  /** The replies of `watch()`, in order of opening. */
  readonly watched: readonly Observed[]
  /** The replies of `prompt()` and `command()`. */
  readonly prompted: readonly Observed[]
  /** What the server has of each session. */
  readonly sessions: readonly { readonly id: string }[]
  /** What a plain reader of the event stream saw. */
  readonly frames: readonly Frame[]
}

/** Plays a scenario on its own server, prompted through `prompt()`, watched by another client's `watch()`. */
export async function playScenario(version: string, scenario: Scenario): Promise<MatrixRun> {
  const { config, files, env, keepAlive = true } = scenario
  const generation = isOpenCode2(version) ? 2 : 1
  const model = await startModel({ scripts: scenario.scripts, fallback: scenario.name, keepAlive, generation })
  const undo: (() => Promise<void>)[] = [() => model.close()]
  try {
    const opencode = await launchOpencode({
      version,
      model,
      ...(config && { config }),
      ...(files && { files }),
      ...(env && { env }),
    })
    undo.unshift(opencode.stop)
    const { url, directory } = opencode
    const unused = async (): Promise<undefined> => undefined
    const { stream, headers } = createWire(version, { directory, send: unused, read: unused })
    const tape = await startTape(`${url}${stream}`, headers)
    undo.unshift(tape.stop)
    // A server that is just starting accepts connections that it never answers: after a kill that must not take
    // minutes.
    const isRestarted = /^(?:killed|stopped)/.test(scenario.name)
    // The heartbeats of OpenCode 2 come every 15 s.
    const patience = isRestarted ? { deadlineMs: 5000, ...(generation === 1 && { silenceMs: 3000 }) } : {}
    const password = generation === 2 ? { password: openCode2Password } : {}
    const options = { url, directory, ...password, backOff: { minMs: 50, maxMs: 500 }, ...patience }
    const { watcher, isLive } = connectLive(options)
    undo.unshift(watcher.close)
    const watched = watchAll(watcher)
    await within(60_000, isLive, () => 'the watch did not connect')
    const posts = countPosts()
    const client = connect({ ...options, fetch: posts.fetch })
    undo.unshift(client.close)
    const plain = createKit({ opencode, model, tape, others: [], scenario })
    const { kit, prompted } = throughPrompt(plain, { client, posts, directory })
    await driverFor(scenario.name)(kit)
    await kit.settled()
    await allSettled(() => [...watched(), ...prompted()])
    const { sessions } = await kit.truth()
    return {
      watched: watched(),
      prompted: prompted(),
      sessions: Object.entries(sessions).map(([id, told]) => ({ id, ...told })),
      frames: tape.frames,
    }
  } finally {
    for (const each of undo) await each()
  }
}

/** A client and when it is connected: `ready` rejects if the first attempt fails, and the next one follows. */
function connectLive(options: ConnectOptions) {
  let settle = (): void => {}
  const isLive = new Promise<void>((resolve) => {
    settle = resolve
  })
  const watcher = connect({ ...options, onConnection: (state) => (state === 'live' ? settle() : undefined) })
  watcher.ready.catch(() => {})
  return { watcher, isLive }
}

async function allSettled(observed: () => readonly Observed[]): Promise<void> {
  await eventually(60_000, async () => (observed().every(({ ends }) => ends > 0) ? true : undefined)).catch(() => {})
  // Late events amend.
  await new Promise((resolve) => setTimeout(resolve, 100))
}

/** Keeps the newest state of each reply. */
function keep(list: Observed[], first: Reply) {
  const index = list.push({ reply: first, ends: 0 }) - 1
  return observing(({ type, reply }) => {
    const ends = (list[index]?.ends ?? 0) + (type === 'replySettled' ? 1 : 0)
    list[index] = { reply, ends }
  })
}

function watchAll(opencode: Client): () => readonly Observed[] {
  const replies: Observed[] = []
  opencode.watch({}, { observe: (first) => [keep(replies, first)] })
  return () => replies
}

interface Posts {
  readonly fetch: typeof fetch
  /** Resolves when the server has answered this many prompts. */
  answered(count: number): Promise<void>
}

function countPosts(): Posts {
  let count = 0
  const counted: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const response = await fetch(request)
    if (request.method === 'POST' && /\/prompt(?:_async)?$/.test(new URL(request.url).pathname)) count += 1
    return response
  }
  return {
    fetch: counted,
    answered: async (wanted) => {
      await eventually(60_000, async () => (count >= wanted ? true : undefined))
    },
  }
}

/** A driver's kit whose prompts and commands go through our own `prompt()` and `command()`. */
function throughPrompt(
  plain: Kit,
  options: { readonly client: Client; readonly posts: Posts; readonly directory: string },
): { readonly kit: Kit; readonly prompted: () => readonly Observed[] } {
  const { client, posts } = options
  const replies: Observed[] = []
  let posted = 0
  const observe = (first: Reply) => [keep(replies, first)]
  const prompt: Kit['prompt'] = async (
    sessionID,
    { script = plain.scenario.name, words, parts = [], more = {} } = {},
  ) => {
    // A prompt with an id of its own is not one of ours.
    if ('id' in more)
      return await plain.prompt(sessionID, { script, ...(words !== undefined && { words }), parts, more })
    posted += 1
    const input = { sessionID, text: promptFor(script, words), parts, ...more } as PromptInput
    client.prompt(input, { observe })
    await posts.answered(posted)
  }
  const command: Kit['command'] = async (sessionID, name, words) => {
    const stream: ReplyStream = client.command({ sessionID, command: name, arguments: words }, { observe })
    await within(60_000, stream.result, () => 'the command did not end')
  }
  const kit: Kit = {
    ...plain,
    prompt,
    turn: async (sessionID, more) => {
      const since = plain.tape.frames.length
      await prompt(sessionID, more)
      await plain.idle(sessionID, since)
    },
    command,
  }
  return { kit, prompted: () => replies }
}
