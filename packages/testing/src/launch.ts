import { setTimeout as sleep } from 'node:timers/promises'
import { type BinaryOptions, defaultVersion, opencodeBinary } from './binary.ts'
import { configFor, type OpencodeConfig, secondConfigFor } from './config.ts'
import { TestingError } from './error.ts'
import { isOpenCode2 } from './generation.ts'
import { startGuard } from './guard.ts'
import { prepareHome } from './home.ts'
import type { ScriptedModel } from './model/start.ts'
import { onFreePort } from './port.ts'
import { createProjectIn, createRoot } from './project.ts'
import { startServer } from './server.ts'

/** Which server to launch, and its project. */
export interface LaunchOptions extends BinaryOptions {
  /** The model for the server, or its base URL. */
  readonly model: Pick<ScriptedModel, 'url'> | string
  /** Settings to add to the project's `opencode.json`. */
  readonly config?: OpencodeConfig
  /** Files of the throw-away project, committed before the server starts. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** The password that clients must send: the server's `OPENCODE_SERVER_PASSWORD`. Default: none required. */
  readonly password?: string
  /** Whether OpenCode 2 runs as its managed service, which resumes interrupted runs when it starts. Default false. */
  readonly service?: boolean
  /** Added to the server's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Default: any free port. */
  readonly port?: number
  /** How long to wait until the server answers, in ms. Default 60,000. */
  readonly readyMs?: number
  /**
   * Whether to set up the project's instance before `launchOpencode` resolves, and to fail if its config is invalid.
   * Default true.
   */
  readonly warm?: boolean
}

/** A running OpenCode server in a throw-away home and project. */
export interface OpencodeServer {
  /** The server's address: `http://127.0.0.1:…`. */
  readonly url: string
  /** The server's version. */
  readonly version: string
  /** The project's directory, in the server's spelling. */
  readonly directory: string
  /** The throw-away folder that holds home and project. */
  readonly root: string
  /** The throw-away home folder. */
  readonly home: string
  /** The port that it listens on, also after `restart`. */
  readonly port: number
  /** The server's stdout and stderr, the last 64 KB. */
  output(): string
  /** Writes files into the project, without committing them. */
  write(files: Readonly<Record<string, string>>): Promise<void>
  /** Kills the server, like a crash. Home and project stay. */
  kill(): Promise<void>
  /**
   * Stops the server if it runs, and starts it again with the same home, project and port. Rejects with type `launch`
   * if it doesn't start, and after `stop`.
   */
  restart(): Promise<void>
  /** Stops the server and removes everything it created. Safe to call twice. */
  stop(): Promise<void>
}

/**
 * Starts a real OpenCode server in a throw-away home and project, pointed at a scripted model, and waits until it
 * answers. You can start several. `stop()` removes everything, and so does the end of your process. Rejects, and
 * removes everything, with type `install` without a binary, and with `launch` if the server doesn't start or refuses
 * its config.
 */
export const launchOpencode = async (options: LaunchOptions): Promise<OpencodeServer> => {
  const version = options.version ?? defaultVersion
  const binary = await opencodeBinary({ ...options, version })
  const modelUrl = typeof options.model === 'string' ? options.model : options.model.url
  const isVersion2 = isOpenCode2(version)
  const root = createRoot()
  // The guard starts here, so that it also cleans up if the process is killed while the project is made.
  const guard = startGuard(root)
  const project = await createProjectIn(root, {
    ...options.files,
    ...(!isVersion2 && { 'opencode.json': configFor(version, modelUrl, options.config) }),
  })
  const { password, service = false } = options
  await prepareHome(
    project.home,
    version,
    isVersion2 ? secondConfigFor(modelUrl, options.config) : undefined,
    service ? (password ?? openCode2Password) : undefined,
  )
  const env = {
    ...options.env,
    ...(password !== undefined && { OPENCODE_SERVER_PASSWORD: password }),
    // Without one, the server makes up a password.
    ...(isVersion2 && { OPENCODE_PASSWORD: password ?? openCode2Password }),
  }
  const headers = authorizationOf(env)
  const { readyMs = 60_000 } = options
  const health = isVersion2 ? '/api/health' : '/global/health'
  const flags = service ? ['--service'] : []
  /** Starts the server on a port. Rejects as `startServer` does. */
  const start = (onPort: number) =>
    startServer({ binary, project, port: onPort, env, headers, readyMs, guard, health, flags })
  let server: Awaited<ReturnType<typeof startServer>> | undefined
  let port = options.port ?? 0
  let stopped = false
  /** Stops the server, and removes everything. Does nothing the second time. */
  const stop = async (): Promise<void> => {
    if (stopped) return
    stopped = true
    await server?.end()
    await project.remove()
    guard.dismiss()
  }

  try {
    if (options.port === undefined) {
      const free = await onFreePort(start)
      port = free.port
      server = free.started
    } else server = await start(options.port)
    if (isVersion2) await waitForModel(server.url, project.directory, headers)
    else if (options.warm ?? true) await requireValidConfig(server.url, project.directory, headers)
  } catch (error) {
    await stop()
    throw error
  }
  const url = server.url
  return {
    url,
    version,
    directory: project.directory,
    root: project.root,
    home: project.home,
    port,
    output: () => server?.output() ?? '',
    write: project.write,
    kill: async () => server?.kill(),
    restart: async () => {
      if (stopped) throw new TestingError('launch', `The server at ${url} was stopped: launch a new one.`)
      await server?.end()
      server = await start(port)
    },
    stop,
  }
}

/**
 * Returns the header that the launcher itself must send to a server with that environment. Empty without a password.
 */
const authorizationOf = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const { OPENCODE_SERVER_USERNAME: username = 'opencode' } = env
  const password = env.OPENCODE_PASSWORD ?? env.OPENCODE_SERVER_PASSWORD
  if (!password) return {}
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}

/** The default password of OpenCode 2 servers, which always have one. */
export const openCode2Password = 'reply-test'

const maxTries = 1200

/**
 * Waits until a new location of OpenCode 2 has a model. For its first moments it has none, and refuses prompts. Rejects
 * with type `launch` after 1,200 tries, at least a minute.
 */
const waitForModel = async (
  url: string,
  directory: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> => {
  const route = `${url}/api/model?${new URLSearchParams({ 'location[directory]': directory })}`
  for (let tries = 0; tries < maxTries; tries++) {
    const response = await fetch(route, { headers })
    const body: unknown = await response.json()
    const models = typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined
    if (Array.isArray(models) && models.length > 0) return
    await sleep(50)
  }
  throw new TestingError('launch', `OpenCode at ${url} lists no model for ${directory}: check the config option.`)
}

/**
 * Rejects with type `launch`, and the server's reason, if it refused the project's config. That only shows on the
 * routes of a directory: health and the event stream look fine.
 */
const requireValidConfig = async (
  url: string,
  directory: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> => {
  const response = await fetch(`${url}/config?directory=${encodeURIComponent(directory)}`, { headers })
  if (response.ok) return
  const reason = (await response.text()).slice(0, 500)
  throw new TestingError(
    'launch',
    `OpenCode rejected its opencode.json (${response.status}): fix the config option. Its response: ${reason}`,
  )
}
