import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Upstream } from './balancer.ts'

/** A bridge as a process of its own, which is started again whenever it ends. */
export interface Member extends Upstream {
  /** How often it was started. */
  starts(): number
  /** The CPU time of its present process, in ms. 0 on systems other than Linux. */
  cpuMs(): number
  /** What its `/readyz` says: `ready`, `standby`, … Undefined without an answer. */
  state(): Promise<string | undefined>
  /** Kills it. */
  kill(): void
  /** Stops it for that many ms. */
  suspend(ms: number): void
  /** Whether it is stopped now. */
  isSuspended(): boolean
  /** Asks it to end, and resolves when it has. It is started again at once. */
  restart(): Promise<void>
  /** Asks it to end for good. */
  end(): Promise<void>
}

const command = fileURLToPath(new URL('../../../console/bin/reply.mjs', import.meta.url))

/** How long the supervisor waits before it starts a member again, in ms: systemd's own default is 100. */
const restartMs = 100

/** Starts a member, and again after each end. `log` is the file that gets its log, in JSON lines. */
export function startMember(options: {
  readonly name: string
  readonly config: string
  readonly log: string
  readonly env: Readonly<Record<string, string>>
}): Member {
  const { name, config, log, env } = options
  const file = createWriteStream(log, { flags: 'a' })
  let child: ChildProcess
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
    kill: () => void child.kill('SIGKILL'),
    suspend,
    isSuspended: () => waking !== undefined,
    restart: async () => await terminate(child),
    end,
  }

  function start(): void {
    starts += 1
    write(`started for the ${starts}. time`)
    child = spawn(process.execPath, [command, 'bridge', '--config', config, '--listen', '127.0.0.1:0', '--log'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const output of [child.stdout, child.stderr]) {
      output?.on('data', (chunk: Buffer) => {
        const text = String(chunk)
        file.write(text)
        url = /Serving (http:\S+?)\/healthz/.exec(text)?.[1] ?? url
      })
    }
    child.once('exit', (code, signal) => {
      url = undefined
      write(`ended with ${code ?? signal}`)
      if (!isEnding) setTimeout(() => !isEnding && start(), restartMs)
    })
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
    stopped.kill('SIGSTOP')
    clearTimeout(waking)
    waking = setTimeout(() => {
      waking = undefined
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
 * Returns the CPU time of a process. Linux counts it in hundredths of a second.
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function cpuMsOf(pid: number | undefined): number {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return 0
  const [, fields = ''] = readFileSync(file, 'utf8').split(') ')
  const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number)
  return 10 * (user + system)
}

async function terminate(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const forced = setTimeout(() => child.kill('SIGKILL'), 30_000)
  await ended
  clearTimeout(forced)
}
