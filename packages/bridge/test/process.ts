import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** A process that runs a fixture. */
export interface Running {
  readonly child: ChildProcess
  /** What it has printed. Grows. */
  readonly lines: readonly string[]
  /** Resolves when it has ended and everything that it printed was read. */
  readonly ended: Promise<void>
}

/** Bundles a file of `fixtures` into a folder. */
export async function bundleFixture(name: string, folder: string): Promise<string> {
  return await bundleProgram(
    fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url)),
    join(folder, `${name}.mjs`),
  )
}

/** Bundles a program and our sources into a file: it starts in a tenth of the time that it needs as source. Resolves with the file. */
export async function bundleProgram(file: string, outfile: string): Promise<string> {
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['@reply/source'],
    plugins: [
      {
        name: 'agents',
        // The bridge imports these packages by names that esbuild can't see, because few bridges need them.
        setup: ({ onLoad }) =>
          onLoad({ filter: /bridge\/src\/servers\/connect\.ts$/ }, ({ path }) => ({
            contents: readFileSync(path, 'utf8').replace(
              'await import(name)',
              "await (name === '@reply/agents' ? import('@reply/agents') : import('@reply/ag-ui'))",
            ),
            loader: 'ts',
          })),
      },
      {
        name: 'external',
        // Other packages are loaded as they are: some have binaries, and some don't work in one file with others.
        setup: ({ onResolve, resolve }) =>
          onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...options }) => {
            if (pluginData === 'resolving' || path.startsWith('@reply/') || isBuiltin(path)) return undefined
            const found = await resolve(path, { ...options, pluginData: 'resolving' })
            // An optional one may not be installed.
            return { path: found.path || path, external: true }
          }),
      },
    ],
  })
  return outfile
}

/** Runs a file of `bundleFixture`. */
export function run(script: string, ...args: readonly string[]): Running {
  return runWith({}, script, ...args)
}

/** Does the same with variables beside those of this process. */
export function runWith(env: Readonly<Record<string, string>>, script: string, ...args: readonly string[]): Running {
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const child = spawn(process.execPath, [script, ...args], { stdio: [...stdio], env: { ...process.env, ...env } })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => lines.push(line))
  return { child, lines, ended: Promise.all([once(child, 'exit'), once(reader, 'close')]).then(() => undefined) }
}
