import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
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

/** Bundles a file of `fixtures` into a folder: that process starts in a tenth of the time that it needs as source. */
export async function bundleFixture(name: string, folder: string): Promise<string> {
  const outfile = join(folder, `${name}.mjs`)
  await build({
    entryPoints: [fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['@reply/source'],
    // grammY's fetch knows signals by the name of their class, which esbuild changes where a module uses the global one.
    keepNames: true,
    // Packages in CommonJS call `require`.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'\nconst require = requireFrom(import.meta.url)",
    },
    plugins: [
      {
        name: 'agents',
        // The bridge imports this package by a name that esbuild can't see, because few bridges need it.
        setup: ({ onLoad }) =>
          onLoad({ filter: /bridge\/src\/servers\/connect\.ts$/ }, ({ path }) => ({
            contents: readFileSync(path, 'utf8').replace('await import(name)', "await import('@reply/agents')"),
            loader: 'ts',
          })),
      },
      {
        name: 'libsql',
        // Its binary can't be bundled.
        setup: ({ onResolve }) =>
          onResolve({ filter: /^libsql$/ }, () => ({ path: import.meta.resolve('libsql'), external: true })),
      },
    ],
  })
  return outfile
}

/** Runs a file of `bundleFixture`. */
export function run(script: string, ...args: readonly string[]): Running {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => lines.push(line))
  return { child, lines, ended: Promise.all([once(child, 'exit'), once(reader, 'close')]).then(() => undefined) }
}
