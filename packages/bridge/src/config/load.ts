import { existsSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { keepSecret, type SecretSource } from '@reply/sink/channel'
import { BridgeError, wordsOf } from '../error.ts'
import { parseConfig } from './config.ts'
import type { BridgeConfig } from './schema.ts'

/** A config with what its paths are relative to. */
export interface LoadedConfig {
  /** The checked config. */
  readonly config: BridgeConfig
  /** The folder of the state, absolute. */
  readonly stateFolder: string
  /** Reads a secret. Throws `BridgeError` of type `config` if it is missing or blank. */
  readonly secret: (source: SecretSource) => string
}

/** Reads a config. Throws `BridgeError` of type `config`. */
export function loadConfig(path: string, env: Readonly<Record<string, string | undefined>>): LoadedConfig {
  const folder = dirname(resolve(path))
  if (!existsSync(path))
    throw new BridgeError('config', `There is no file ${path}. Write one with "reply bridge init", or name another.`)
  const config = withFolders(parseConfig(jsonOf(path)), folder)
  const stateFolder = resolve(folder, config.state)
  requireApart(config, [resolve(path), stateFolder, ...secretFilesIn(config).map((file) => resolve(folder, file))])
  return { config, stateFolder, secret: secretsOf({ folder, env }) }
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

/** In its folder, an agent may read and write without asking: neither who may do what, nor secrets may be there. */
function requireApart({ servers }: BridgeConfig, paths: readonly string[]): void {
  for (const [name, { agent, directory }] of Object.entries(servers)) {
    if (agent === undefined || directory === undefined) continue
    const inside = paths.find((path) => !relative(directory, path).startsWith('..'))
    if (inside === undefined) continue
    const cure = 'Give it a folder without the config, the state and the files of secrets.'
    throw new BridgeError('config', `servers.${name}.directory: ${inside} is in the agent's folder. ${cure}`)
  }
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
      throw new BridgeError('config', `The environment variable ${source.env} is not set. Set it to the secret.`)
    }
    const path = resolve(options.folder, source.file)
    const value = textOf(path).trim()
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
    const position = /position (\d+)/.exec(wordsOf(cause))?.[1]
    const line = position === undefined ? undefined : text.slice(0, Number(position)).split('\n').length
    throw new BridgeError('config', `${path} is not JSON${line === undefined ? '' : `: see line ${line}`}.`)
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new BridgeError('config', `${path} could not be read: ${wordsOf(cause)}.`, { cause })
  }
}
