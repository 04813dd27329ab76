import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { TestingError } from './error.ts'
import { isOpenCode2, openCode2Version } from './generation.ts'

/** The repository's primary test version. `npm install` installs it on Linux x64. */
export const defaultVersion = '1.18.33'

/** Which OpenCode to run, and where to keep it. */
export interface BinaryOptions {
  /** Default {@link defaultVersion}. */
  readonly version?: string
  /**
   * Where other versions are cached. Default `$REPLY_OPENCODE_CACHE`, else `reply/opencode` in the user's cache
   * folder.
   */
  readonly cache?: string
}

/**
 * Returns the name of a version's npm package for this computer. OpenCode's own names: `windows` instead of `win32`.
 * Baseline builds run on CPUs without AVX2, musl builds on Alpine. Doesn't check whether there is such a package.
 */
const packageName = (version = defaultVersion): string => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const names = [`${isOpenCode2(version) ? '@opencode-ai/cli' : 'opencode'}-${platform}-${process.arch}`]
  // Preview builds of OpenCode 2 run on every CPU with this one.
  if (isOpenCode2(version) && process.arch === 'x64') return [...names, 'baseline'].join('-')
  if (process.arch === 'x64' && platform === 'linux' && !hasAvx2()) names.push('baseline')
  if (platform === 'linux' && isMusl()) names.push('musl')
  return names.join('-')
}

/** Whether the CPU has AVX2. True if it can't be found out. */
const hasAvx2 = (): boolean => {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8').includes(' avx2')
  } catch {
    return true
  }
}

/** Whether this is Alpine Linux. */
const isMusl = (): boolean => existsSync('/etc/alpine-release')

/** The file name of the program in a version's package, which ends in `.exe` on Windows. */
const executableOf = (version: string): string => {
  const name = isOpenCode2(version) ? 'opencode2' : 'opencode'
  return process.platform === 'win32' ? `${name}.exe` : name
}

/** Returns the folder where versions other than the installed one are cached, which may not exist yet. */
export const cacheFolder = (): string =>
  process.env.REPLY_OPENCODE_CACHE ??
  join(process.env.XDG_CACHE_HOME ?? process.env.LOCALAPPDATA ?? join(homedir(), '.cache'), 'reply', 'opencode')

/**
 * Resolves with the path of the binary from `npm install`. Undefined if there is none, or if it has another version.
 */
const installedBinary = async (version: string): Promise<string | undefined> => {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${packageName(version)}/package.json`)
    const { version: found } = JSON.parse(await readFile(manifest, 'utf8')) as { version?: unknown }
    const binary = join(dirname(manifest), 'bin', executableOf(version))
    return found === version && existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}

/**
 * Runs npm in a folder, by default this process's, and resolves with its standard output. Rejects with the end of its
 * standard error if it fails, and if it can't be started.
 */
const runNpm = (args: readonly string[], folder?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const npm = spawn('npm', args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    })
    let output = ''
    let errors = ''
    npm.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
    npm.stderr.on('data', (chunk: Buffer) => {
      errors = `${errors}${chunk.toString('utf8')}`.slice(-2000)
    })
    npm.once('error', reject)
    npm.once('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`npm exited with ${code}: ${errors.trim()}`)),
    )
  })

/** Installs a package into a folder, without running its scripts. Rejects as `runNpm` does. */
export const npmInstall = async (folder: string, packageSpec: string): Promise<void> => {
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--force']
  await runNpm(['install', '--prefix', folder, ...flags, packageSpec], folder)
}

/** Resolves with the newest version of a package on npm. Rejects with type `install` if npm names none. */
export const npmNewest = async (name: string): Promise<string> => {
  try {
    const version: unknown = JSON.parse(await runNpm(['view', name, 'version', '--json']))
    if (typeof version === 'string') return version
  } catch (cause) {
    throw new TestingError('install', `npm does not name the newest ${name}: check the npm registry.`, { cause })
  }
  throw new TestingError('install', `npm names no version of ${name}: check the name and the npm registry.`)
}

/**
 * Resolves with the newest version of OpenCode 1, or of OpenCode 2, on npm. Rejects with type `install` if npm names
 * none.
 */
export const newestOpencode = async (generation: 1 | 2): Promise<string> =>
  await npmNewest(packageName(generation === 2 ? openCode2Version : defaultVersion))

/**
 * Resolves with the path of an OpenCode binary: the one in `node_modules` if its version matches, else the cached one,
 * else it is downloaded into the cache with npm. Safe to call concurrently. Rejects with type `install` if it can't be
 * downloaded, or if the package has no binary.
 */
export const opencodeBinary = async (options: BinaryOptions = {}): Promise<string> => {
  const version = options.version ?? defaultVersion
  const installed = await installedBinary(version)
  if (installed !== undefined) return installed
  const name = packageName(version)
  const executable = executableOf(version)
  const folder = join(options.cache ?? cacheFolder(), `${name.replace('/', '-')}@${version}`)
  const binary = join(folder, 'node_modules', name, 'bin', executable)
  if (existsSync(binary)) return binary
  const draft = `${folder}.${process.pid}-${Date.now()}`
  try {
    await mkdir(draft, { recursive: true })
    await npmInstall(draft, `${name}@${version}`)
    // A rename is atomic: another process sees the whole folder or none. If two processes finish, the first one's
    // folder stays.
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(binary)) throw error
    })
  } catch (cause) {
    const cure = 'check the version and the npm registry, or set REPLY_OPENCODE_CACHE to a folder that has it'
    throw new TestingError('install', `OpenCode ${version} (${name}) could not be installed: ${cure}.`, { cause })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  if (existsSync(binary)) return binary
  throw new TestingError('install', `${name}@${version} has no ${executable}: choose another version of OpenCode.`)
}
