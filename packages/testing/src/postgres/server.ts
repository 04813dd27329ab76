import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, closeSync, openSync, readFileSync } from 'node:fs'
import { appendFile, chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TestingError } from '../error.ts'
import { startGuard } from '../guard.ts'
import { onFreePort } from '../port.ts'
import { createRoot } from '../project.ts'
import { freeze, signalAll, untilEnded } from './processes.ts'
import { type ProgramPlace, programEnvironment, programUser, requirePrograms, runProgram } from './programs.ts'

/** How a server differs from the default one. */
export interface PostgresOptions {
  /** Lines of `postgresql.conf`, which win over the defaults: `{ max_connections: '200' }`. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A running PostgreSQL server in a throw-away folder. */
export interface PostgresServer {
  /** Connects as superuser to the database `postgres`: `postgres://reply:…@127.0.0.1:…/postgres`. */
  readonly url: string
  /** The throw-away folder that holds the data and the log. */
  readonly root: string
  /** Returns the end of the server's log, the last 16 KB. */
  log(): string
  /** Creates an empty database, and resolves with its URL. */
  createDatabase(): Promise<string>
  /**
   * Kills the server and all its processes at the same moment, like a crash. The data stays. Resolves when they are
   * gone. Rejects with type `launch` if the server doesn't run.
   */
  crash(): Promise<void>
  /**
   * Starts the server again on the same data and port, and resolves when it accepts connections. Does nothing if it
   * runs. Rejects with type `launch` if it doesn't start, and after `remove`.
   */
  start(): Promise<void>
  /** Shuts the server down: rolls back and disconnects its clients. The data stays. Does nothing if it doesn't run. */
  stop(): Promise<void>
  /**
   * Makes the server and all its processes stand still, as on a machine that hangs: its clients stay connected and get
   * no answer. Resolves when all stand still. Rejects with type `launch` if the server doesn't run.
   */
  suspend(): Promise<void>
  /** Lets a suspended server continue. Does nothing if it isn't suspended. */
  resume(): void
  /** Stops the server at once, and removes everything it created. Safe to call twice. */
  remove(): Promise<void>
}

/** A server that continuously takes over the changes of another one, its primary, and accepts reads. */
export interface PostgresStandby extends PostgresServer {
  /** Makes it a server of its own that accepts writes. Its primary isn't told. */
  promote(): Promise<void>
}

/** How a primary treats its standby. */
export interface StandbyOptions {
  /**
   * Whether a commit on the primary waits until this standby has written it to disk too. If the standby is down, commits
   * then wait until it is back.
   */
  readonly synchronous: boolean
}

/** Small, and as careful with commits as a server in production. */
const defaults: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  synchronous_commit: 'on',
  max_connections: '50',
  shared_buffers: '16MB',
  max_wal_size: '128MB',
  // So that a standby can still catch up after it was down.
  wal_keep_size: '64MB',
  // In the data folder instead of shared memory, where a killed server would leave a file behind.
  dynamic_shared_memory_type: 'mmap',
}

/**
 * Starts a PostgreSQL server of its own that listens on loopback only, and resolves when it accepts connections. For
 * root it runs as the user `postgres`. `remove()` removes everything, and so does the end of your process, even by
 * SIGKILL. The server doesn't keep your process alive. Rejects, and removes everything, with type `install` without
 * PostgreSQL's programs, and with `launch` and the end of the log if it doesn't start.
 */
export const startPostgres = async (options: PostgresOptions = {}): Promise<PostgresServer> => {
  const password = randomBytes(16).toString('hex')
  return await launch(password, async (place, data) => {
    const passwordFile = join(place.root, 'password')
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (place.user) await chown(passwordFile, place.user.uid, place.user.gid)
    await runProgram(place, 'initdb', [
      ...['-D', data, '--username', owner, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
      // The settings decide what is written safely later. Here it would only take time.
      ...['--encoding', 'UTF8', '--locale', 'C', '--no-sync'],
    ])
    await rm(passwordFile)
    await appendFile(join(data, 'postgresql.conf'), settingLines({ ...defaults, ...options.settings }))
  })
}

/**
 * Starts a standby of a server, through streaming replication, and resolves when it has caught up and its primary
 * treats it as it should. `primary` may also be the URL of a proxy in front of it. Rejects as `startPostgres` does.
 */
export const startStandby = async (
  primary: Pick<PostgresServer, 'url'>,
  { synchronous }: StandbyOptions,
): Promise<PostgresStandby> => {
  const { address, password } = addressOf(primary.url)
  const name = `standby_${randomBytes(6).toString('hex')}`
  const server = await launch(password, async (inside, data) => {
    const source = new URL(address)
    source.searchParams.set('application_name', name)
    const backup = ['-D', data, '-d', source.href, '--write-recovery-conf', '--checkpoint', 'fast', '--no-sync']
    await runProgram(inside, 'pg_basebackup', backup, password)
    // The copy of a primary with a synchronous standby would wait for that standby too, once promoted.
    await appendFile(join(data, 'postgresql.auto.conf'), settingLines({ synchronous_standby_names: '' }))
  })
  const place = { bin: requirePrograms(), root: server.root, user: programUser() }
  try {
    if (synchronous) {
      const shown = await query(place, primary.url, 'show synchronous_standby_names')
      const names = [...[...shown.matchAll(/standby_\w+/g)].map(([other]) => other), name]
      const value = `FIRST ${names.length} (${names.join(', ')})`
      await query(place, primary.url, `alter system set synchronous_standby_names = '${value}'`)
      await query(place, primary.url, 'select pg_reload_conf()')
    }
    const state = `select sync_state from pg_stat_replication where application_name = '${name}' and state = 'streaming'`
    const expected = synchronous ? 'sync' : 'async'
    const deadline = Date.now() + readyMs
    while ((await query(place, primary.url, state)) !== expected) {
      if (Date.now() > deadline) throw new TestingError('launch', `${server.url} did not become ${expected}.`)
      await sleep(20)
    }
  } catch (error) {
    await server.remove()
    throw error
  }
  return {
    ...server,
    promote: async () => {
      if ((await query(place, server.url, 'select pg_promote()')) !== 't')
        throw new TestingError('launch', `The standby was not promoted within a minute. Its log:\n${server.log()}`)
    },
  }
}

let shared: Promise<PostgresServer> | undefined

/**
 * Resolves with a server that all tests of this process share, each with a database of its own from `createDatabase()`.
 * Starts it at the first call. It is removed when the process ends.
 */
export const sharedPostgres = async (): Promise<Pick<PostgresServer, 'createDatabase'>> => {
  shared ??= startPostgres()
  return await shared
}

/** The superuser, who owns the data. */
const owner = 'reply'

const readyMs = 60_000

/** Returns settings as lines of `postgresql.conf`. The last line of a setting counts. */
const settingLines = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join('')

/** Divides a server's URL into the password and the rest. */
const addressOf = (url: string): { readonly address: string; readonly password: string } => {
  const address = new URL(url)
  const { password } = address
  address.password = ''
  return { address: address.href, password: decodeURIComponent(password) }
}

/** Runs one statement, and resolves with its only value. Rejects with type `launch` and the server's reason. */
const query = async (place: ProgramPlace, url: string, statement: string): Promise<string> => {
  const { address, password } = addressOf(url)
  return await runProgram(place, 'psql', ['-X', '-A', '-t', '-d', address, '-c', statement], password)
}

interface Postmaster {
  readonly child: ChildProcess
  /** Resolves when it has ended. Never rejects. */
  readonly ended: Promise<void>
}

/**
 * Lets `prepare` fill a data folder, and starts a server on it. Removes everything if either fails, and rejects with
 * that error.
 */
const launch = async (
  password: string,
  prepare: (place: ProgramPlace, data: string) => Promise<void>,
): Promise<PostgresServer> => {
  const bin = requirePrograms()
  const user = programUser()
  const root = createRoot()
  // An immediate shutdown, in which the server ends all its processes and removes its shared memory.
  const guard = startGuard(root, 'SIGQUIT')
  const place: ProgramPlace = { bin, root, user }
  const data = join(root, 'data')
  const pidFile = join(data, 'postmaster.pid')
  const logFile = join(root, 'log')
  let port = 0
  let running: Postmaster | undefined
  let suspended: readonly number[] = []
  let isRemoved = false

  /** Returns the end of the log. Empty before the first start. */
  const log = (): string => {
    try {
      return readFileSync(logFile, 'utf8').slice(-16_384)
    } catch {
      return ''
    }
  }
  /** Returns the lines of the file that a server keeps while it runs. Empty without it. */
  const pidLines = (): readonly string[] => {
    try {
      return readFileSync(pidFile, 'utf8').split('\n')
    } catch {
      return []
    }
  }

  /** Starts the server, and resolves when it accepts connections. Rejects with the end of its log. */
  const startOn = async (onPort: number): Promise<void> => {
    const output = openSync(logFile, 'a')
    const child = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(onPort)], {
      cwd: root,
      env: programEnvironment(root),
      stdio: ['ignore', output, output],
      // A Control-C in the terminal is for the tests, which still need the server to clean up.
      detached: true,
      ...user,
    })
    closeSync(output)
    child.unref()
    let hasEnded = false
    const ended = new Promise<void>((resolve) => {
      /** Notes the end, also of a server that never started. */
      const end = (): void => {
        hasEnded = true
        running = undefined
        suspended = []
        guard.watch(undefined)
        resolve()
      }
      child.once('exit', end)
      child.once('error', end)
    })
    running = { child, ended }
    guard.watch(child.pid)
    const deadline = Date.now() + readyMs
    for (;;) {
      if (hasEnded) throw new TestingError('launch', `PostgreSQL did not start on port ${onPort}. Its log:\n${log()}`)
      const [pid, , , , , , , status = ''] = pidLines()
      // The file of a server that was killed is still there.
      if (Number(pid) === child.pid && status.trim() === 'ready') return
      if (Date.now() > deadline) {
        await end('SIGQUIT')
        throw new TestingError('launch', `PostgreSQL was not ready within ${readyMs} ms. Its log:\n${log()}`)
      }
      await sleep(10)
    }
  }

  /** Returns the id of the server's main process. Throws with type `launch` if it doesn't run. */
  const requirePid = (): number => {
    const pid = running?.child.pid
    if (pid === undefined) throw new TestingError('launch', `The server on port ${port} does not run: start it first.`)
    return pid
  }
  /** Waits for the end of the server, and keeps our process alive for it. */
  const waitForEnd = async (): Promise<void> => {
    running?.child.ref()
    await running?.ended
  }
  /** Lets a suspended server continue. */
  const resume = (): void => {
    signalAll(suspended, 'SIGCONT')
    suspended = []
  }
  /** Shuts the server down in the way of a signal. Does nothing if it doesn't run. */
  const end = async (how: NodeJS.Signals): Promise<void> => {
    if (running?.child.pid !== undefined) signalAll([running.child.pid], how)
    resume()
    await waitForEnd()
  }
  /** Stops the server at once, and removes everything. Does nothing the second time. */
  const remove = async (): Promise<void> => {
    if (isRemoved) return
    isRemoved = true
    await end('SIGQUIT')
    // A server that was killed has left its shared memory behind, whose key and id are in this line.
    const memory = pidLines()[6]?.trim().split(/\s+/)[1]
    if (memory !== undefined) await runProgram({ ...place, bin: '' }, 'ipcrm', ['-m', memory]).catch(() => {})
    await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    guard.dismiss()
  }

  try {
    if (user) chownSync(root, user.uid, user.gid)
    await prepare(place, data)
    port = (await onFreePort(startOn)).port
  } catch (error) {
    await remove()
    throw error
  }
  const url = `postgres://${owner}:${password}@127.0.0.1:${port}/postgres`
  return {
    url,
    root,
    log,
    createDatabase: async () => {
      const name = `test_${randomBytes(6).toString('hex')}`
      await query(place, url, `create database ${name}`)
      return url.replace(/postgres$/, name)
    },
    crash: async () => {
      const all = await freeze(requirePid())
      signalAll(all, 'SIGKILL')
      await waitForEnd()
      await untilEnded(all)
    },
    start: async () => {
      if (isRemoved) throw new TestingError('launch', `The server on port ${port} was removed: start a new one.`)
      if (running === undefined) await startOn(port)
    },
    stop: async () => await end('SIGINT'),
    suspend: async () => {
      suspended = await freeze(requirePid())
    },
    resume,
    remove,
  }
}
