import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const peers = fileURLToPath(new URL('../../../../scripts/peers/', import.meta.url))
const assistantUi = `${peers}assistant-ui.jsx`

/** Whether assistant-ui is installed, so that `bundleAssistantUi` works. */
export const hasAssistantUi = existsSync(`${peers}node_modules/@assistant-ui/react/package.json`)

/** Bundles the page with `useChat` as one script. Rejects with the first error of a file. */
export async function bundleChat(): Promise<Uint8Array> {
  return await bundle(fileURLToPath(new URL('page/app.tsx', import.meta.url)))
}

/** Bundles the page with assistant-ui, with the React that is installed beside it. Rejects with the first error of a file. */
export async function bundleAssistantUi(): Promise<Uint8Array> {
  return await bundle(assistantUi, {
    react: `${peers}node_modules/react`,
    'react-dom': `${peers}node_modules/react-dom`,
    zod: `${peers}node_modules/zod`,
  })
}

/** Bundles a script with all that it imports. `alias` has the folders of packages that are not to be looked up. */
async function bundle(entry: string, alias: Record<string, string> = {}): Promise<Uint8Array> {
  const { outputFiles } = await build({
    ...{ entryPoints: [entry], bundle: true, write: false, format: 'esm', target: 'es2022', logLevel: 'silent' },
    ...{ jsx: 'automatic', minify: true, alias, conditions: ['@reply/source'] },
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const [file] = outputFiles
  if (!file) throw new Error(`esbuild made nothing of ${entry}.`)
  return file.contents
}
