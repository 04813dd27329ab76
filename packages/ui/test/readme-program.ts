import { readFileSync } from 'node:fs'
import { compileFunction } from 'node:vm'
import { transform } from 'esbuild'

/** Runs the first TypeScript program of a package's README with these modules, and returns what it exports. */
export async function readmeProgram(
  name: 'ui' | 'ag-ui' | 'web',
  modules: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const readme = readFileSync(new URL(`../../${name}/README.md`, import.meta.url), 'utf8')
  const [, program = ''] = /```ts\n(.*?)```/s.exec(readme) ?? []
  const { code } = await transform(program, { loader: 'ts', format: 'cjs' })
  const module = { exports: {} }
  compileFunction(code, ['require', 'module'])((path: string) => modules[path], module)
  return module.exports
}
