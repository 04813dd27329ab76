import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { keepSecret } from '@reply/sink/channel'
import type { SecretSource } from '@reply/sink/internal'
import * as z from 'zod'
import { BridgeError, messageOf } from '../error.ts'
import { reachedFrom } from './agent-reach.ts'
import { openTo } from './file-permissions.ts'
import { parseConfig } from './parse.ts'
import { type BridgeConfig, configSchema } from './schema.ts'

/** A config with what its paths are relative to. */
export interface LoadedConfig {
  /** The checked config. */
  readonly config: BridgeConfig
  /** The folder of the state, absolute. */
  readonly stateFolder: string
  /** The config, the folder of the state and the files of secrets, absolute: no agent may reach them. */
  readonly ownPaths: readonly string[]
  /** Reads a secret. Throws `BridgeError` of type `config` if it is missing or blank. */
  readonly secret: (source: SecretSource) => string
}

/** Reads a config. Throws `BridgeError` of type `config`. */
export function loadConfig(path: string, env: Readonly<Record<string, string | undefined>>): LoadedConfig {
  const folder = dirname(resolve(path))
  if (!existsSync(path))
    throw new BridgeError(
      'config',
      `The config ${path} does not exist. Create it with "reply bridge init", or choose another with --config.`,
    )
  const config = withFolders(parseConfig(jsonOf(path)), folder)
  const stateFolder = resolve(folder, config.state)
  const ownPaths = [resolve(path), stateFolder, ...secretFilesIn(config).map((file) => resolve(folder, file))]
  requireUnwritable(path)
  for (const [name, { directory }] of Object.entries(config.servers))
    if (directory !== undefined) requireApart(`servers.${name}.directory: ${directory}`, directory, ownPaths)
  return { config, stateFolder, ownPaths, secret: secretsOf({ folder, env }) }
}

const onlyPeople = z.looseObject({ people: configSchema.shape.people.unwrap() })

/** The people that a config lists which can't be used as a whole. Undefined if it lists none, or they can't be read. */
export function readPeople(path: string): BridgeConfig['people'] | undefined {
  try {
    return onlyPeople.parse(jsonOf(path)).people
  } catch {
    return undefined
  }
}

/** An agent runs on this computer, so its folder is relative to the config. A server's directory is its own matter. */
function withFolders(config: BridgeConfig, folder: string): BridgeConfig {
  const servers = Object.entries(config.servers).map(([name, server]) => {
    const { agent, directory } = server
    const isLocal = agent !== undefined && directory !== undefined
    return [name, isLocal ? { ...server, directory: resolve(folder, directory) } : server] as const
  })
  return { ...config, servers: Object.fromEntries(servers) }
}

/**
 * In its folder an agent reads and writes without asking, so neither who may do what, nor secrets, nor the state may be
 * there. `what` begins the error. A directory that can't be seen from here, as that of a server elsewhere, is passed.
 */
export function requireApart(what: string, directory: string, ownPaths: readonly string[]): void {
  const reached = reachedFrom(directory, ownPaths)
  if (reached === undefined) return
  const words = `An agent that works there can access ${reached}, and could grant itself rights or read secrets.`
  const cure = 'Move the config with its secrets and state to a folder of their own, such as ~/.config/reply/bridge.'
  throw new BridgeError('config', `${what} contains files of the bridge. ${words} ${cure}`)
}

/** Who can write a config can give himself every right. */
function requireUnwritable(path: string): void {
  if (openTo(path, 'write') !== 'others') return
  throw new BridgeError('config', `Every user of this computer can change ${path}. Run "chmod o-w" on it.`)
}

/** The files that an entry or a config names as secrets. */
export function secretFilesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'file' && typeof inner === 'string' ? [inner] : secretFilesIn(inner),
  )
}

/** Reads secrets from the environment and from files of the config's folder. */
export function secretsOf(options: {
  readonly folder: string
  readonly env: Readonly<Record<string, string | undefined>>
}): LoadedConfig['secret'] {
  return (source) => {
    if ('env' in source) {
      const value = options.env[source.env]?.trim()
      if (value) return kept(value)
      throw new BridgeError(
        'config',
        `The environment variable ${source.env} is not set. Set it to the value of the secret.`,
      )
    }
    const path = resolve(options.folder, source.file)
    const value = textOf(path).trim()
    const readers = openTo(path, 'read')
    if (readers !== undefined)
      throw new BridgeError(
        'config',
        `${readers === 'others' ? 'Every user of this computer' : 'Its group'} can read the secret in ${path}. Run "chmod 600" on it, and replace the secret if others may have read it.`,
      )
    if (value) return kept(value)
    throw new BridgeError('config', `The file ${path} is empty. Write the secret into it.`)
  }
}

/** From now on, no error of this process contains it. */
function kept(secret: string): string {
  keepSecret(secret)
  return secret
}

function jsonOf(path: string): unknown {
  const text = textOf(path)
  try {
    return JSON.parse(text)
  } catch (cause) {
    // The parser's own words quote the text, which may have a secret in it.
    const position = /position (\d+)/.exec(messageOf(cause))?.[1]
    const line = position === undefined ? undefined : text.slice(0, Number(position)).split('\n').length
    throw new BridgeError('config', `${path} is not JSON${line === undefined ? '' : `: see line ${line}`}.`)
  }
}

/** The largest config or secret, in bytes: a config of 1,000 people has 100 kB. */
const maxBytes = 1_048_576

/** A running bridge reads its config again and again, and would wait forever for what a pipe or a device may send. */
function textOf(path: string): string {
  try {
    const found = statSync(path)
    if (!found.isFile()) throw new Error('it is not a regular file')
    if (found.size > maxBytes) throw new Error(`it has ${found.size} bytes, and ${maxBytes} are the most`)
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new BridgeError('config', `${path} could not be read: ${messageOf(cause)}.`, { cause })
  }
}
