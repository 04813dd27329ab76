import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import { keepSecret } from '@reply/sink/channel'
import type { SecretSource } from '@reply/sink/internal'
import * as z from 'zod'
import { BridgeError, messageOf } from '../error.ts'
import { reachedFrom } from './agent-reach.ts'
import { otherUsersWith } from './file-permissions.ts'
import { parseConfig, parseState } from './parse.ts'
import { type BridgeConfig, configSchema, type StateConfig, sqliteStateSchema } from './schema.ts'

/** A config with its absolute paths and secrets. */
export interface LoadedConfig {
  /** The checked config. */
  readonly config: BridgeConfig
  /**
   * Where the state is kept. The fields of `sqlite` are checked, and its folder is absolute. Those of other types are as they
   * were written.
   */
  readonly state: StateConfig
  /**
   * Absolute paths of the config, the files of secrets, the folder of a SQLite state, and the programs and files that
   * `transcribe` names. No agent may access them.
   */
  readonly ownPaths: readonly string[]
  readonly secret: ReadSecret
}

/**
 * Reads a secret. Throws `BridgeError` of type `config` if it is missing or blank. No error of this process contains it
 * afterwards, or only its `parts` if it is a URL with a password: its host must be named in errors.
 */
export type ReadSecret = (source: SecretSource, parts?: (secret: string) => readonly string[]) => string

/**
 * Reads a config. Throws `BridgeError` of type `config` if it is invalid, if every user can change it, or if an agent could
 * access the bridge's own files.
 */
export function loadConfig(path: string, env: Readonly<Record<string, string | undefined>>): LoadedConfig {
  const folder = dirname(resolve(path))
  if (!existsSync(path))
    throw new BridgeError(
      'config',
      `The config ${path} does not exist. Create it with "reply bridge init", or choose another with --config.`,
    )
  const config = withAbsoluteFolders(parseConfig(readJson(path)), folder)
  const { state, statePaths } = stateIn(config, folder)
  const secretPaths = secretFilesIn(config).map((file) => resolve(folder, file))
  const ownPaths = [resolve(path), ...statePaths, ...secretPaths, ...programPathsIn(config)]
  requireUnwritable(path)
  for (const [name, { directory }] of Object.entries(config.servers))
    if (directory !== undefined) requireApart(`servers.${name}.directory: ${directory}`, directory, ownPaths)
  return { config, state, ownPaths, secret: secretsOf(folder, env) }
}

/**
 * Returns the state of a config as an object, and the paths on this computer that it is in: only SQLite has one. Relative ones
 * are resolved from a folder.
 */
function stateIn(
  { state }: BridgeConfig,
  folder: string,
): { readonly state: StateConfig; readonly statePaths: readonly string[] } {
  if (typeof state !== 'string' && state.type !== 'sqlite') return { state, statePaths: [] }
  const sqlite = parseState(sqliteStateSchema, typeof state === 'string' ? { type: 'sqlite', folder: state } : state)
  const path = resolve(folder, sqlite.folder)
  return { state: { ...sqlite, folder: path }, statePaths: [path] }
}

const onlyPeople = z.looseObject({ people: configSchema.shape.people.unwrap() })

/** Reads only the people of a config that has errors elsewhere. Undefined if they are missing or invalid. */
export function readPeople(path: string): BridgeConfig['people'] | undefined {
  try {
    return onlyPeople.parse(readJson(path)).people
  } catch {
    return undefined
  }
}

/** Returns the absolute paths in the commands of `transcribe`: an agent that could change a program could read secrets. */
function programPathsIn({ transcribe }: BridgeConfig): readonly string[] {
  return [...(transcribe?.command ?? []), ...(transcribe?.convert || [])].filter((one) => isAbsolute(one))
}

/**
 * Returns the config with absolute directories for agents that are started and absolute programs of `transcribe`, resolved from a
 * folder. Those of servers stay, because a server may run elsewhere, and so do programs that `PATH` finds.
 */
function withAbsoluteFolders(config: BridgeConfig, folder: string): BridgeConfig {
  const servers = Object.entries(config.servers).map(([name, server]) => {
    const { url, agent, directory } = server
    const isStarted = url === undefined && agent !== undefined && directory !== undefined
    return [name, isStarted ? { ...server, directory: resolve(folder, directory) } : server] as const
  })
  const { transcribe } = config
  const programs = transcribe && {
    ...transcribe,
    ...(transcribe.command && { command: withAbsoluteProgram(transcribe.command, folder) }),
    ...(transcribe.convert && { convert: withAbsoluteProgram(transcribe.convert, folder) }),
  }
  return { ...config, servers: Object.fromEntries(servers), ...(programs && { transcribe: programs }) }
}

/** Returns a command whose program is absolute, resolved from a folder. A name that `PATH` finds stays. */
function withAbsoluteProgram(
  [program, ...args]: readonly [string, ...string[]],
  folder: string,
): [string, ...string[]] {
  return [program.includes('/') ? resolve(folder, program) : program, ...args]
}

/**
 * Throws a `BridgeError` if an agent in a directory can access the bridge's own files, because it reads and writes there
 * freely. `what` starts the error message. Accepts a directory that doesn't exist here, for example that of a remote server.
 */
export function requireApart(what: string, directory: string, ownPaths: readonly string[]): void {
  const reached = reachedFrom(directory, ownPaths)
  if (reached === undefined) return
  const why = `An agent that works there can access ${reached}, and could grant itself rights or read secrets.`
  const cure = 'Move the config with its secrets and state to a folder of their own, such as ~/.config/reply/bridge.'
  throw new BridgeError('config', `${what} contains files of the bridge. ${why} ${cure}`)
}

/** Throws a `BridgeError` if every user can write the config, because they could grant themselves rights. Its group may. */
function requireUnwritable(path: string): void {
  if (otherUsersWith(path, 'write') !== 'others') return
  throw new BridgeError('config', `Every user of this computer can change ${path}. Run "chmod o-w" on it.`)
}

/**
 * Returns the files that an entry or a config names for secrets, in any field `file`, because no agent may access them. Empty
 * for a value that is not an object.
 */
export function secretFilesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'file' && typeof inner === 'string' ? [inner] : secretFilesIn(inner),
  )
}

/**
 * Returns a function that reads secrets from the environment, and from files relative to a folder, without white space around
 * them. It throws a `BridgeError` if a secret is missing or empty, or if others can read its file.
 */
export function secretsOf(folder: string, env: Readonly<Record<string, string | undefined>>): ReadSecret {
  return (source, parts) => {
    if ('env' in source) {
      const value = env[source.env]?.trim()
      if (value) return keptSecret(value, parts)
      throw new BridgeError(
        'config',
        `The environment variable ${source.env} is not set. Set it to the value of the secret.`,
      )
    }
    const path = resolve(folder, source.file)
    const value = readRegularFile(path).trim()
    const readers = otherUsersWith(path, 'read')
    if (readers !== undefined)
      throw new BridgeError(
        'config',
        `${readers === 'others' ? 'Every user of this computer' : 'Its group'} can read the secret in ${path}. Run "chmod 600" on it, and replace the secret if others may have read it.`,
      )
    if (value) return keptSecret(value, parts)
    throw new BridgeError('config', `The file ${path} is empty. Write the secret into it.`)
  }
}

/** Registers a secret or its parts, so that no error of this process contains them, and returns it. */
function keptSecret(secret: string, parts: (secret: string) => readonly string[] = (whole) => [whole]): string {
  for (const part of parts(secret)) keepSecret(part)
  return secret
}

/**
 * Reads and parses a JSON file. Throws a `BridgeError` that never quotes the file, with the line of a syntax error if it is
 * known.
 */
function readJson(path: string): unknown {
  const text = readRegularFile(path)
  try {
    return JSON.parse(text)
  } catch (cause) {
    // The parser's message quotes the text, which may contain a secret.
    const position = /position (\d+)/.exec(messageOf(cause))?.[1]
    const line = position === undefined ? undefined : text.slice(0, Number(position)).split('\n').length
    throw new BridgeError('config', `${path} is not JSON${line === undefined ? '' : `: see line ${line}`}.`)
  }
}

/** The largest config or secret, in bytes: a config of 1,000 people has 100 kB. */
const maxBytes = 1_048_576

/**
 * Reads a regular file of a limited size. Throws a `BridgeError` if it can't. A pipe or a device could block a running
 * bridge forever.
 */
function readRegularFile(path: string): string {
  try {
    const found = statSync(path)
    if (!found.isFile()) throw new Error('it is not a regular file')
    if (found.size > maxBytes) throw new Error(`it has ${found.size} bytes, and the limit is ${maxBytes}`)
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new BridgeError('config', `${path} could not be read: ${messageOf(cause)}.`, { cause })
  }
}
