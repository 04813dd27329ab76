import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { TestingError } from './error.ts'
import type { Guard } from './guard.ts'
import { homeEnvironment } from './home.ts'
import type { Project } from './project.ts'

interface ServerCommand {
  readonly binary: string
  readonly project: Project
  readonly port: number
  readonly env: Readonly<Record<string, string>>
  /** Sent with each health check. */
  readonly headers: Readonly<Record<string, string>>
  readonly readyMs: number
  readonly guard: Guard
  /** Added to the command line. */
  readonly flags: readonly string[]
  /** The route that reports whether the server is ready. */
  readonly health: string
}

interface RunningServer {
  readonly url: string
  /** Its stdout and stderr, the last 64 KB. */
  output(): string
  /** Asks the server to stop, and kills it with its children after two seconds. Does nothing if it has ended. */
  end(): Promise<void>
  /** Kills the server with its children. Resolves when it has ended. */
  kill(): Promise<void>
}

/**
 * Inherits only the variables that a program needs to run: no proxy, no key, and none of your own OPENCODE_* variables.
 */
const inherited = ['PATH', 'LANG', 'LC_ALL', 'TERM', 'SHELL', 'SystemRoot', 'ComSpec', 'PATHEXT', 'WINDIR']

/** Returns the variables that a program needs to run, those of the prepared home, and `more`, which win. */
const serverEnvironment = ({ home }: Project, more: Readonly<Record<string, string>>): Record<string, string> => ({
  ...Object.fromEntries(
    inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  ),
  ...homeEnvironment(home),
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  ...more,
})

/** Whether a process has neither exited nor been killed. False for one that couldn't be started. */
const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null

/**
 * Signals a server and its own children, such as a shell with a sleeping command. They are in its process group and
 * must end with it. Signals only the server on Windows. Does nothing if the group has ended or never started.
 */
const signalGroup = (child: ChildProcess, name: NodeJS.Signals): void => {
  if (child.pid === undefined) return
  try {
    if (process.platform === 'win32') child.kill(name)
    else process.kill(-child.pid, name)
  } catch (error) {
    // The group has already ended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Resolves with whether a server says that it is healthy. False if it doesn't answer with that within two seconds. */
const isHealthy = async (route: string, headers: Readonly<Record<string, string>>): Promise<boolean> => {
  try {
    const response = await fetch(route, { headers, signal: AbortSignal.timeout(2000) })
    // The web app answers unknown routes with 200, so the body decides.
    const body: unknown = await response.json()
    return typeof body === 'object' && body !== null && 'healthy' in body && body.healthy === true
  } catch {
    return false
  }
}

/**
 * Starts `opencode serve` under its guard, and resolves when it is healthy. Rejects with type `launch` and the server's
 * last output if it ends before, or isn't healthy after `readyMs`, which kills it.
 */
export const startServer = async (options: ServerCommand): Promise<RunningServer> => {
  const { binary, project, port, env, headers, readyMs, guard } = options
  const url = `http://127.0.0.1:${port}`
  const child = spawn(binary, ['serve', ...options.flags, '--port', String(port), '--hostname', '127.0.0.1'], {
    cwd: project.directory,
    env: serverEnvironment(project, env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  })
  guard.watch(child.pid)
  let output = ''
  /** Adds output, and keeps the last 64 KB. */
  const keepOutput = (chunk: Buffer): void => {
    output = `${output}${chunk.toString('utf8')}`.slice(-65_536)
  }
  child.stdout.on('data', keepOutput)
  child.stderr.on('data', keepOutput)
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => {
      guard.watch(undefined)
      resolve()
    })
  })
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })

  /** Kills the server and its children. Resolves when it has ended. */
  const kill = async (): Promise<void> => {
    signalGroup(child, 'SIGKILL')
    if (isRunning(child) && child.pid !== undefined) await closed
  }
  /** Asks the server to stop, and kills it with its children after two seconds. Does nothing if it has ended. */
  const end = async (): Promise<void> => {
    if (isRunning(child)) signalGroup(child, 'SIGTERM')
    await Promise.race([closed, sleep(2000, undefined, { ref: false })])
    await kill()
  }

  const deadline = Date.now() + readyMs
  while (!(await isHealthy(`${url}${options.health}`, headers))) {
    if (failure !== undefined || !isRunning(child)) {
      const why = failure?.message ?? `it exited with ${child.exitCode ?? child.signalCode}`
      throw new TestingError(
        'launch',
        `OpenCode did not start at ${url}: ${why}. Its output: ${output.trim() || '(nothing)'}`,
        { cause: failure },
      )
    }
    if (Date.now() > deadline) {
      await kill()
      throw new TestingError(
        'launch',
        `OpenCode did not answer at ${url} within ${readyMs} ms: raise readyMs. Its output: ${output.trim() || '(nothing)'}`,
      )
    }
    await sleep(50)
  }
  return { url, output: () => output, end, kill }
}
