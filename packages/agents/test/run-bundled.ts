import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleProgram } from '../../bridge/test/process.ts'

export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** How a program ended, and what it has printed on both outputs. */
export interface Ended {
  readonly code: number | null
  readonly said: string
}

/**
 * Runs a program as a reader would, without a terminal, in a folder with these variables besides those of this process. `home` is the
 * folder with the package that it belongs to.
 */
export async function runBundled(file: string, { home, args = [], env = {}, cwd = root }: RunOptions): Promise<Ended> {
  const modules = join(root, home, 'node_modules')
  mkdirSync(modules, { recursive: true })
  // There, so that it finds the packages that are not ours.
  const folder = mkdtempSync(join(modules, '.bundled-'))
  try {
    const program = await bundleProgram(file, join(folder, 'program.mjs'))
    const child = spawn(process.execPath, [program, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    const listen = (chunk: Buffer): void => {
      said += chunk.toString('utf8')
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { code, said }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export interface RunOptions {
  readonly home: string
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
}
