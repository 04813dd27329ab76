import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type AnswerPiece, callTool, launchOpencode, type Script, sayText, startModel } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { doubtsIn } from './doubts.ts'
import { judgeFiles, type Piece } from './file-judge.ts'
import { type Chat, faults, type Seen, startDeviceTown, startTowns, type Town } from './towns.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const sender = fileURLToPath(new URL('../../tools/bin/reply-tools.mjs', import.meta.url))
const maker = fileURLToPath(new URL('./fixtures/maker-server.mjs', import.meta.url))

/** A PNG of one pixel. What follows it is ignored, so each picture can have its own bytes. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** What happens in the middle of the answers of a stage to one of its processes. */
export const blows = ['none', 'bridge killed', 'bridge stopped', 'server restarted', 'bridge killed twice'] as const
export type Blow = (typeof blows)[number]

/** How many prompts may wait for the server at the same time, so that it begins each in time. */
const mostUnbegun = 4

/** Longer than a linked device waits for an acknowledgement, and than WhatsApp's budget and the bridge's retries take, in ms. */
const restMs = 45_000

/** How often a person asks for what may be missing. The last time, nothing is. */
const mostResends = 5

/** How long a person waits for what they asked for before they ask again, in ms. WhatsApp takes a message in six seconds. */
const resendMs = 20_000

/** What a stage plays. */
export interface Plan {
  readonly seed: number
  readonly blow: Blow
  /** How many chats each platform has. Each has a run, and all are at work together. */
  readonly chats: number
}

/** What the chats of a stage showed, beside what the agent made. */
export interface FileRuns extends Plan {
  readonly runs: number
  /** How many files the agent made that the chats should show. */
  readonly files: number
  /** Requests that failed. */
  readonly faults: number
  /** Posts with files that the chats show more than once, counted from the second. */
  readonly doubled: number
  /** Posts whose result the bridge does not know, as its ledgers count them. */
  readonly doubtful: number
  /** Files, and names of files, that came once the person asked for what may be missing. */
  readonly late: number
  /** Files that a chat should show and does not, whether it names them or not. */
  readonly lost: number
  /** What is wrong, in words. Empty if nothing is. */
  readonly wrong: readonly string[]
}

interface Run {
  readonly name: string
  readonly chat: Chat
  readonly script: Script
  /** The files in the project that the agent sends. */
  readonly files: Readonly<Record<string, string>>
}

/** Plans a run: texts, and files between them that the agent sends, draws or links to. */
function planRun(name: string, chat: Chat, random: () => number): Run {
  const files: Record<string, string> = {}
  const steps: AnswerPiece[][] = []
  let count = 0
  const next = (ending: string): string => `${name}f${++count}x.${ending}`
  const send = (ending: string): AnswerPiece => {
    const path = next(ending)
    files[path] = ending === 'png' ? 'picture' : 'text'
    return callTool('reply_send_file', { path, ...(random() < 0.5 && { caption: `About ${path}` }) })
  }
  const makes: readonly (() => readonly AnswerPiece[][])[] = [
    () => [[send('png')]],
    () => [[send('csv')]],
    () => [Array.from({ length: 2 + Math.floor(random() * 3) }, () => send('png'))],
    () => [[send('txt'), send('csv')]],
    () => [[callTool('maker_draw', { name: next('png') })]],
    () => [[callTool('maker_link', { name: next('gone') })]],
    () => {
      const path = next('txt')
      const made = callTool('bash', { command: `printf '%s' ${path} > ${path}`, description: 'Write it' })
      return [[made], [callTool('reply_send_file', { path })]]
    },
  ]
  // WhatsApp takes a message in six seconds, and a linked device an edit in three.
  const parts = 1 + Math.floor(random() * (chat.platform === 'whatsapp' ? 2 : 4))
  for (let part = 0; part < parts; part++) {
    const [first = [], ...rest] = makes[Math.floor(random() * makes.length)]?.() ?? []
    const text = random() < 0.6 ? [sayText(`Text ${part} of ${name}. And a little more.`, 6)] : []
    steps.push([...text, ...first], ...rest.map((one) => [...one]))
  }
  return { name, chat, files, script: { steps: [...steps, [sayText(endOf(name))]] } }
}

const endOf = (name: string): string => `The end of ${name}.`

/** Returns the content of a file that the agent sends. Each has its own bytes. */
function contentOf(name: string, kind: string): Uint8Array {
  return kind === 'picture' ? Buffer.concat([pixel, Buffer.from(name)]) : Buffer.from(name)
}

/** A message as the server stores it. */
interface Stored {
  readonly info: { readonly role: string }
  readonly parts: readonly {
    readonly type: string
    readonly text?: string
    readonly tool?: string
    readonly state?: { readonly status: string; readonly input?: { readonly path?: string; readonly name?: string } }
  }[]
}

/**
 * Lets an agent send files to chats of all platforms through a bridge that is a process of its own. Requests fail, and a process is
 * killed, stopped or restarted meanwhile. Resolves with what the chats show in the end, beside what the server says that the agent
 * made.
 */
export async function playFileRuns({ seed, blow, chats }: Plan): Promise<FileRuns> {
  const random = seededRandom(seed)
  const towns = [...(await startTowns(chats)), await startDeviceTown(chats)]
  const runs = towns.flatMap((town) => town.chats).map((chat, index) => planRun(`r${seed}n${index}`, chat, random))
  const model = await startModel({
    scripts: Object.fromEntries(runs.map(({ name, script }) => [name, script])),
    chunkDelayMs: 30,
  })
  const server = await launchOpencode({
    model,
    config: {
      permission: { bash: 'allow' },
      mcp: { reply: [process.execPath, sender], maker: [process.execPath, maker] },
      extra: { snapshot: false },
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'reply-file-runs-'))
  const path = join(folder, 'reply.json')
  writeFileSync(
    path,
    JSON.stringify({
      servers: { home: { url: server.url, directory: server.directory } },
      channels: Object.fromEntries(towns.map((town) => [nameOf(town), town.platform.entry])),
      people: {
        ann: {
          ids: towns.flatMap((town) => town.people.map((id) => `${nameOf(town)}:${id}`)),
          may: ['prompt', 'approve'],
        },
      },
      router: { messagesPerMinute: 1000 },
    }),
  )
  for (const { files } of runs)
    for (const [name, kind] of Object.entries(files)) writeFileSync(join(server.directory, name), contentOf(name, kind))
  const log: string[] = []
  const said: Run[] = []
  const env = Object.assign({}, ...towns.map(({ platform }) => platform.secrets))
  let bridge = await startBridge()
  try {
    await toolsStarted()
    for (const run of runs) {
      run.chat.say(`Go [scenario:${run.name}]`)
      said.push(run)
      for (let left = Math.floor(random() * 4); left > 0; left--)
        run.chat.fail({
          fault: faults[Math.floor(random() * faults.length)] ?? 'wait',
          only: random() < 0.7 ? 'files' : 'all',
          nth: 1 + Math.floor(random() * 3),
          times: random() < 0.2 ? 2 : 1,
        })
      await until(() => unbegun(said).length < mostUnbegun || undefined)
    }
    await until(() => unbegun(runs).length === 0 || undefined)
    await strike()
    await untilAtRest()
    const seen = new Map(runs.map(({ chat }) => [chat, chat.seen()]))
    await resendMissing()
    bridge.kill('SIGTERM')
    await ended(bridge)
    return await judge(seen)
  } finally {
    bridge.kill('SIGKILL')
    await Promise.all(towns.map(async ({ platform }) => await platform.close()))
    await server.stop()
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  }

  async function startBridge(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [command, 'bridge', '--config', path, '--listen', '127.0.0.1:0', '--log'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const from = log.length
    for (const output of [child.stdout, child.stderr]) output?.on('data', (chunk: Buffer) => log.push(String(chunk)))
    const url = await until(() => /Serving (http:\S+?)\/healthz/.exec(log.slice(from).join(''))?.[1])
    await until(() => log.slice(from).join('').includes('Listening') || undefined)
    for (const town of towns) await town.platform.ready(`${url}/webhooks/${nameOf(town)}`)
    return child
  }

  /** Resolves with what is found. Rejects if that never comes. */
  async function until<T>(find: () => T | undefined): Promise<T> {
    for (let waitedMs = 0; waitedMs < 120_000; waitedMs += 50) {
      const found = find()
      if (found !== undefined) return found
      await pause(50)
    }
    const waiting = unbegun(said).map(
      ({ name, chat }) => `${name} in ${chat.id}: ${chat.seen().map(({ text }) => text)}`,
    )
    throw new Error(`It never came. Not begun: ${waiting.join('; ')}\n${log.slice(-10).join('')}`)
  }

  /**
   * Resolves when the server has started the programs with the agent's tools. Its first run waits for them, which takes longer on a
   * loaded machine than a bridge waits for a run to begin.
   */
  async function toolsStarted(): Promise<void> {
    const isStarted = async (): Promise<boolean> => {
      const programs: readonly { readonly status: string }[] = Object.values(await get('/mcp'))
      return programs.length === 2 && programs.every(({ status }) => status === 'connected')
    }
    for (let waitedMs = 0; !(await isStarted()); waitedMs += 50) {
      if (waitedMs > 120_000) throw new Error(`The tools never started: ${JSON.stringify(await get('/mcp'))}`)
      await pause(50)
    }
  }

  /** Returns the runs by which the model was not asked yet. */
  function unbegun(some: readonly Run[]): readonly Run[] {
    return some.filter(({ name }) => !model.requests.some(({ scenario }) => scenario === name))
  }

  async function strike(): Promise<void> {
    const count = blow === 'bridge killed twice' ? 2 : 1
    if (blow === 'none') return
    // A run ends with its server, so some of them have files by then.
    if (blow === 'server restarted')
      await until(() => runs.some(({ chat }) => chat.seen().some(({ files }) => files.length > 0)) || undefined)
    for (let nth = 0; nth < count; nth++) {
      await pause(random() * 6000)
      if (blow === 'server restarted') await server.restart()
      else {
        bridge.kill(blow === 'bridge stopped' ? 'SIGTERM' : 'SIGKILL')
        await ended(bridge)
        bridge = await startBridge()
      }
    }
  }

  /** Resolves when no agent is at work, and no chat has changed for `restMs`. */
  async function untilAtRest(): Promise<void> {
    let before = -1
    for (let quietMs = 0, allMs = 0; quietMs < restMs && allMs < 300_000; quietMs += 500, allMs += 500) {
      await pause(500)
      const requests = towns.reduce((sum, one) => sum + one.requests(), 0)
      const isBusy = Object.values(await get('/session/status')).some((status) =>
        JSON.stringify(status).includes('busy'),
      )
      if (requests !== before || isBusy) quietMs = 0
      before = requests
    }
  }

  /** Has each person ask for what the bridge says may be missing, until it knows of nothing more. Some faults may be left. */
  async function resendMissing(): Promise<void> {
    const chats = runs.map(({ chat }) => chat).filter((chat) => isMissing(chat.seen()))
    await Promise.all(
      chats.map(async (chat) => {
        const from = chat.seen().length
        const isOver = (): boolean =>
          chat.seen().some(({ text }, at) => at >= from && text.includes('No answer is known to be missing'))
        for (let tries = 0; !isOver() && tries < mostResends; tries++) {
          chat.say('/resend')
          for (let waitedMs = 0; !isOver() && waitedMs < resendMs; waitedMs += 50) await pause(50)
        }
      }),
    )
  }

  async function get(route: string): Promise<ReturnType<typeof JSON.parse>> {
    const address = new URL(route, server.url)
    address.searchParams.set('directory', server.directory)
    return await (await fetch(address)).json()
  }

  /** Returns what each run made, by its name, in the order of the answer. */
  async function made(): Promise<ReadonlyMap<string, readonly Piece[]>> {
    const sessions: readonly { readonly id: string }[] = await get('/session')
    const found = new Map<string, readonly Piece[]>()
    for (const { id } of sessions) {
      const messages: readonly Stored[] = await get(`/session/${id}/message`)
      const asked = messages.find(({ info }) => info.role === 'user')?.parts.map(({ text = '' }) => text)
      const [, name = ''] = /\[scenario:(\w+)\]/.exec(asked?.join('') ?? '') ?? []
      const parts = messages.filter(({ info }) => info.role === 'assistant').flatMap((one) => one.parts)
      found.set(name, [...(found.get(name) ?? []), ...parts.flatMap(pieceOf)])
    }
    return found
  }

  /** Compares what the chats showed before people asked for what may be missing, and show now, with what the agent made. */
  async function judge(seenBefore: ReadonlyMap<Chat, readonly Seen[]>): Promise<FileRuns> {
    const pieces = await made()
    const store = await sqliteStore({ folder: join(folder, 'state') })
    const wrong: string[] = []
    let [files, doubled, doubtful, late, lost] = [0, 0, 0, 0, 0]
    for (const { name, chat, script } of runs) {
      const seen = seenBefore.get(chat) ?? []
      const ids = new Set(seen.map(({ id }) => id))
      const resent = chat.seen().filter(({ id }) => !ids.has(id))
      const wanted = pieces.get(name) ?? []
      const filesWanted = wanted.filter(({ type }) => type === 'file')
      const ledgers = (await store.list('ledger/')).filter(({ key }) => key.includes(chat.id))
      const posts = await doubtsIn({ list: async () => ledgers })
      const verdict = judgeFiles({ wanted, seen, resent, doubtful: posts.posts })
      const isEnded = [...seen, ...resent].some(({ text }) => isEnd(text, name, blow))
      const problems = [
        ...(blow !== 'server restarted' && filesWanted.length !== filesIn(script)
          ? [`the agent made ${filesWanted.length} of ${filesIn(script)} files`]
          : []),
        ...(isEnded ? [] : ['its end is not shown']),
        ...verdict.problems,
      ]
      files += filesWanted.length
      doubled += verdict.copies
      doubtful += posts.posts
      late += verdict.late
      lost += verdict.lost
      if (problems.length > 0)
        wrong.push(
          `${name} on ${chat.platform} (${blow}): ${problems.join('; ')}\n  wanted ${wanted.map((one) => one.name).join(' | ')}\n  shown ${seen.map((one) => `${one.text} ${one.files.map((bytes) => Buffer.from(bytes).toString('latin1').slice(-14))}`).join(' | ')}`,
        )
    }
    await store.close()
    const failed = towns.reduce((sum, one) => sum + one.failed(), 0)
    return {
      seed,
      blow,
      chats,
      runs: runs.length,
      files,
      faults: failed,
      doubled,
      doubtful,
      late,
      lost,
      wrong,
    }
  }
}

/** The name of a town in the config. */
function nameOf({ name, platform }: Town): string {
  return name ?? platform.name
}

/** Returns what a part of an answer should show. */
function pieceOf({ type, text = '', tool = '', state }: Stored['parts'][number]): readonly Piece[] {
  if (type === 'text' && text !== '') return [{ type, name: text }]
  if (type !== 'tool' || state?.status !== 'completed') return []
  const name = state.input?.path ?? state.input?.name
  if (name === undefined) return []
  return [{ type: tool === 'maker_link' ? 'missing' : 'file', name }]
}

/** Whether the bridge said that something may be missing. */
function isMissing(seen: readonly Seen[]): boolean {
  return seen.some(({ text }) => text.includes('may be missing here'))
}

/** Whether a text is the end of an answer, or says that there will be none. */
function isEnd(text: string, name: string, blow: Blow): boolean {
  // A run ends with its server, maybe between two steps.
  const isStopped = blow === 'server restarted' && text.includes('the agent did not continue after its last tool calls')
  return isStopped || text.includes(endOf(name)) || text.includes('The end of the reply never arrived')
}

/** Returns how many files a script makes. */
function filesIn({ steps }: Script): number {
  const pieces = steps.flatMap((step) => ('attempts' in step || 'branches' in step ? [] : step))
  return pieces.filter((piece) => piece.type === 'tool' && /_send_file$|_draw$/.test(piece.tool)).length
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve))
}
