import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { callTool, launchOpencode, type Scripts, sayText, startModel } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import { startTelegram } from '@reply/testing/telegram'
import { texts } from '../src/texts.ts'
import { doubtfulIn } from './kills.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const stopping = fileURLToPath(new URL('./stop-in-call.mjs', import.meta.url))
const token = '42:secret'
const chats = [1000, 1001, 1002]
const { notTaken } = texts

/**
 * What happens to the process that owns the state: it is killed; it is stopped past its lease and woken, anywhere or right
 * before it makes a call; or it alone can write no file any more.
 */
export type Fault = 'killed' | 'stopped' | 'stopped-in-call' | 'cut-off'

/** The calls that a bridge is stopped in. */
const stoppedIn = ['sendRichMessage', 'editMessageText', 'editMessageText', 'prompt_async']

const nameOf = (round: number, chat: number): string => `r${round}c${chat}`
const endingOf = (name: string): string => `This is the whole answer of ${name}.`

/** A bridge as a process of its own. */
interface Process {
  readonly name: string
  readonly child: ChildProcess
  said(): string
  readonly ended: Promise<unknown>
}

/** Two bridges on one state, in front of a real server. Resolves with what the chats show wrongly, in words. */
export async function playTwoBridges(fault: Fault, rounds: number, seed: number): Promise<readonly string[]> {
  const random = seededRandom(seed)
  const names = Array.from({ length: rounds }, (_, round) => chats.map((chat) => nameOf(round, chat))).flat()
  const model = await startModel({ scripts: Object.fromEntries(names.map((name) => [name, scriptOf(name)])) })
  const server = await launchOpencode({ model, config: { permission: { bash: 'allow' }, extra: { snapshot: false } } })
  const telegram = await startTelegram({
    token,
    chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' })),
  })
  const folder = mkdtempSync(join(tmpdir(), 'reply-two-'))
  let opened = 0
  /** Each has an address of its own, so that its calls can be told from those of the others. */
  const openNext = (): Process => {
    const name = `bridge${opened++}`
    const apiRoot = `${telegram.url}/${name}`
    const config = {
      servers: { home: { url: server.url, directory: server.directory } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot, updates: 'polling' } },
      people: { ann: { ids: chats.map((chat) => `tg:${chat}`), may: ['prompt', 'approve'] } },
      router: { messagesPerMinute: 1000 },
    }
    const path = join(folder, `${name}.json`)
    writeFileSync(path, JSON.stringify(config))
    const call = stoppedIn[Math.floor(random() * stoppedIn.length)]
    const stop = fault === 'stopped-in-call' ? `${call}:${1 + Math.floor(random() * 4)}` : undefined
    return open(name, path, stop)
  }
  const said = (chat: number): readonly string[] =>
    telegram.screen(chat).flatMap((one) => (one.from === 'bot' ? [one.text] : []))
  const refusals = new Map<number, number>()
  let owner = openNext()
  await says(owner, 'Listening')
  let other = openNext()
  const faults: string[] = []
  for (let round = 0; round < rounds; round++) {
    await says(other, 'Waiting for it to exit')
    if (fault === 'stopped-in-call') writeFileSync(join(folder, `${owner.name}.json.armed`), '')
    for (const chat of chats) telegram.say(chat, `Go [scenario:${nameOf(round, chat)}]`)
    if (fault !== 'stopped-in-call') await pause(random() * 4000)
    await strike(owner, other, () => chats.every((chat) => isAnswered(chat, endingOf(nameOf(round, chat)))))
    owner = other
    other = openNext()
    for (const chat of chats) {
      const ending = endingOf(nameOf(round, chat))
      // A loaded machine is slow, but goes on.
      for (let waitedMs = 0; waitedMs < 120_000 && !isOver(chat, ending); waitedMs += 200) await pause(200)
    }
  }
  const growing = (): number =>
    chats.flatMap(said).filter((one) => /\b(?:Working|Writing|Starting|bash: Work)\b/.test(one)).length
  // The last answers are on the screen before their status is gone.
  for (let waitedMs = 0; waitedMs < 15_000 && growing() > 0; waitedMs += 200) await pause(200)
  for (const one of [other, owner]) {
    one.child.kill('SIGTERM')
    await one.ended
  }
  const doubtful = await doubtfulIn(join(folder, 'state'))
  const counts = chats.flatMap((chat) =>
    Array.from({ length: rounds }, (_, round) => {
      const name = nameOf(round, chat)
      const count = said(chat).filter((one) => one.includes(endingOf(name))).length
      return { name, count }
    }),
  )
  const copies = counts.reduce((sum, { count }) => sum + Math.max(0, count - 1), 0)
  const missing = counts.filter(({ count }) => count === 0).map(({ name }) => name)
  // It is told, and then does not run.
  const refused = chats.flatMap(said).filter((one) => one.includes(notTaken)).length
  const shown = (): string => chats.map((chat) => `${chat}:\n${said(chat).join('\n')}\n${callsIn(chat)}`).join('\n')
  if (missing.length !== refused) faults.push(`missing: ${missing.join()}, and ${refused} were refused: ${shown()}`)
  if (copies > doubtful) {
    const copied = counts.filter(({ count }) => count > 1).map(({ name }) => name)
    faults.push(`${copies} finals are shown twice, of which ${doubtful} are counted: ${copied.join()}: ${shown()}`)
  }
  if (growing() > doubtful) faults.push(`${growing()} messages are at work for ever: ${shown()}`)
  await telegram.close()
  await server.stop()
  await model.close()
  rmSync(folder, { recursive: true, force: true })
  return faults

  function isAnswered(chat: number, ending: string): boolean {
    return said(chat).some((one) => one.includes(ending))
  }

  /** Whether it is answered, or refused as one that could not be written down. */
  function isOver(chat: number, ending: string): boolean {
    if (isAnswered(chat, ending)) return true
    const count = said(chat).filter((one) => one.includes(notTaken)).length
    if (count === (refusals.get(chat) ?? 0)) return false
    refusals.set(chat, count)
    return true
  }

  /** Every call about a chat, with when and by which bridge it was made. */
  function callsIn(chat: number): string {
    const calls = telegram.calls.filter(({ chatId, method }) => chatId === chat && method !== 'sendChatAction')
    return calls
      .map(({ at, root, method, ok, payload }) => `${at} ${root} ${method} ${ok} ${JSON.stringify(payload)}`)
      .join('\n')
  }

  async function strike(stopped: Process, next: Process, areAnswered: () => boolean): Promise<void> {
    switch (fault) {
      case 'killed':
        stopped.child.kill('SIGKILL')
        return await says(next, 'Listening')
      case 'stopped':
        // One that is stopped within a write keeps the state locked.
        do {
          stopped.child.kill('SIGCONT')
          await pause(random() * 100)
          stopped.child.kill('SIGSTOP')
        } while (!(await isSaid(next, 'Listening', 15_000)))
        // While the other shows what is open.
        await pause(random() * 1000)
        stopped.child.kill('SIGCONT')
        break
      case 'stopped-in-call':
        while (!isStopped(stopped) && !areAnswered()) await pause(50)
        // It made fewer calls. To stop it anywhere might keep the state locked.
        if (!isStopped(stopped)) {
          stopped.child.kill('SIGKILL')
          return await says(next, 'Listening')
        }
        await says(next, 'Listening')
        // Also long after the other has shown everything, and has forgotten the prompts that never came.
        if (random() < 0.5) for (let waitedMs = 0; waitedMs < 30_000 && !areAnswered(); waitedMs += 50) await pause(50)
        await pause(random() * 1000)
        stopped.child.kill('SIGCONT')
        break
      case 'cut-off':
        execFileSync('prlimit', ['--pid', `${stopped.child.pid}`, '--fsize=0'])
        await says(next, 'Listening')
        break
      default:
        fault satisfies never
    }
    await stopped.ended
    if (stopped.child.exitCode !== 1 || !stopped.said().includes('Another process took over'))
      faults.push(`the first ended with ${stopped.child.exitCode}: ${stopped.said()}`)
  }
}

function scriptOf(name: string): Scripts[string] {
  const bash = callTool('bash', { command: 'sleep 1', description: 'Work' })
  return { steps: [[sayText(`Beginning of ${name}.`, 4), bash], [sayText(endingOf(name), 3)]] }
}

/** Linux's letter for a process that is stopped. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function isStopped({ child }: Process): boolean {
  return / T /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8'))
}

function open(name: string, path: string, stop: string | undefined): Process {
  const loaded = stop === undefined ? [] : ['--import', stopping]
  const child = spawn(process.execPath, [...loaded, command, 'bridge', '--config', path], {
    env: { ...process.env, TOKEN: token, STOP_IN: stop, STOP_IF: `${path}.armed` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let words = ''
  child.stderr.on('data', (chunk: Buffer) => {
    words += String(chunk)
  })
  return { name, child, said: () => words, ended: new Promise((resolve) => child.once('exit', resolve)) }
}

async function says(one: Process, what: string): Promise<void> {
  if (!(await isSaid(one, what, 120_000))) throw new Error(`A bridge never said "${what}": ${one.said()}`)
}

async function isSaid({ said, child }: Process, what: string, withinMs: number): Promise<boolean> {
  for (let waitedMs = 0; !said().includes(what) && waitedMs < withinMs; waitedMs += 50) {
    if (child.exitCode !== null) throw new Error(`A bridge ended before it said "${what}": ${said()}`)
    await pause(50)
  }
  return said().includes(what)
}
