import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Upstream } from './balancer.ts'

/** A bridge as a process of its own, which is started again whenever it ends. */
export interface Member extends Upstream {
  /** How often it was started. */
  starts(): number
  /** The CPU time of its present process, in ms. 0 on systems other than Linux. */
  cpuMs(): number
  /**
   * The names of the shards of which it takes messages, as its log tells. None from when it is stopped until it beats again, after it was
   * killed, and while its membership has ended.
   */
  taking(): readonly string[]
  /** The names of those that it still reads, likewise. */
  restoring(): readonly string[]
  /** What its `/readyz` says: `ready`, `standby`, … Undefined without an answer. */
  state(): Promise<string | undefined>
  /** Kills it. */
  kill(): void
  /** Stops it for that many ms. */
  suspend(ms: number): void
  /** Whether it is stopped now. */
  isSuspended(): boolean
  /** Asks it to end, and resolves when it has. It is started again at once, with this `reply` command. */
  restart(command: string): Promise<void>
  /** Asks it to end for good. */
  end(): Promise<void>
}

/** How long the supervisor waits before it starts a member again, in ms: systemd's own default is 100. */
const restartMs = 100

/** Starts a member, and again after each end. `log` is the file that gets its log, in JSON lines. */
export function startMember(options: {
  readonly name: string
  /** The path of its `reply` command. */
  readonly command: string
  readonly config: string
  readonly log: string
  readonly env: Readonly<Record<string, string>>
}): Member {
  const { name, config, log, env } = options
  const file = createWriteStream(log, { flags: 'a' })
  let { command } = options
  let child: ChildProcess
  /** The process that was killed last, or stopped and has not beaten since. */
  let struck: ChildProcess | undefined
  /** Whether that one continues. Others may have its shards, which it learns with its next beat. */
  let isWoken = false
  let owned: readonly string[] = []
  let restoring: readonly string[] = []
  let isExpired = false
  let url: string | undefined
  let starts = 0
  let isEnding = false
  let waking: NodeJS.Timeout | undefined
  start()
  return {
    name,
    url: () => url,
    starts: () => starts,
    cpuMs: () => cpuMsOf(child.pid),
    state,
    taking: () => (isWorking() ? owned.filter((shard) => !restoring.includes(shard)) : []),
    restoring: () => (isWorking() ? restoring : []),
    kill: () => {
      struck = child
      isWoken = false
      child.kill('SIGKILL')
    },
    suspend,
    isSuspended: () => waking !== undefined,
    restart: async (next) => {
      command = next
      await terminate(child)
    },
    end,
  }

  function start(): void {
    starts += 1
    write(`started for the ${starts}. time`)
    owned = []
    restoring = []
    isExpired = false
    const own = spawn(process.execPath, [command, 'bridge', '--config', config, '--listen', '127.0.0.1:0', '--log'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = own
    for (const output of [own.stdout, own.stderr]) {
      let line = ''
      output.on('data', (chunk: Buffer) => {
        const text = String(chunk)
        file.write(text)
        const lines = (line + text).split('\n')
        line = lines.pop() ?? ''
        if (child === own) for (const one of lines) readLine(one)
      })
    }
    own.once('exit', (code, signal) => {
      url = undefined
      write(`ended with ${code ?? signal}`)
      if (!isEnding) setTimeout(() => !isEnding && start(), restartMs)
    })
  }

  function readLine(line: string): void {
    url = /Serving (http:\S+?)\/healthz/.exec(line)?.[1] ?? url
    const [, all, unread] = /"type":"shards","owned":(\[.*?\]),"restoring":(\[.*?\])/.exec(line) ?? []
    if (all !== undefined && unread !== undefined) {
      owned = JSON.parse(all)
      restoring = JSON.parse(unread)
    }
    const [, status] = /"type":"member","status":"(\w+)"/.exec(line) ?? []
    if (status !== undefined) isExpired = status === 'expired'
    // The log has only late beats, as the first one after a stop is. A process that was stopped before it joined has no late one.
    const hasBeaten = status === 'joined' || line.includes('"type":"beat"')
    if (isWoken && hasBeaten && struck === child) struck = undefined
  }

  function isWorking(): boolean {
    return struck !== child && !isExpired
  }

  function write(what: string): void {
    file.write(`${JSON.stringify({ time: Date.now(), supervisor: what })}\n`)
  }

  async function state(): Promise<string | undefined> {
    if (url === undefined) return undefined
    try {
      const response = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(1000) })
      return (await response.text()).split('\n')[0]
    } catch {
      return undefined
    }
  }

  function suspend(ms: number): void {
    const stopped = child
    write(`stopped for ${Math.round(ms)} ms`)
    struck = stopped
    isWoken = false
    stopped.kill('SIGSTOP')
    clearTimeout(waking)
    waking = setTimeout(() => {
      waking = undefined
      isWoken = stopped.signalCode === null && struck === stopped
      write('continues')
      stopped.kill('SIGCONT')
    }, ms)
  }

  async function end(): Promise<void> {
    isEnding = true
    clearTimeout(waking)
    child.kill('SIGCONT')
    await terminate(child)
    await new Promise<void>((resolve) => file.end(resolve))
  }
}

/**
 * Returns the CPU time of a process, in ms. Linux counts it in hundredths of a second. With `isWithEnded`, also that of its
 * children that have ended. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function cpuMsOf(pid: number | undefined, isWithEnded = false): number {
  const times = statOf(pid).slice(11, isWithEnded ? 15 : 13)
  return 10 * times.reduce((sum, one) => sum + Number(one), 0)
}

/** Returns the CPU time of a process and all its children, also of those that have ended, in ms. 0 on systems other than Linux. */
export function cpuMsBelow(pid: number): number {
  if (!existsSync('/proc/self/stat')) return 0
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && statOf(name)[1] === String(pid))
  return children.reduce((sum, child) => sum + cpuMsOf(Number(child)), cpuMsOf(pid, true))
}

/** Returns the fields of /proc/[pid]/stat from the process's state on. Empty if there is no such process. */
function statOf(pid: number | string | undefined): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}

async function terminate(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const forced = setTimeout(() => child.kill('SIGKILL'), 30_000)
  await ended
  clearTimeout(forced)
}
