import { readFile } from 'node:fs/promises'

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The page's files by their paths. No other path is read. */
export const pageFiles: Readonly<Record<string, { readonly type: string; read(): Promise<Uint8Array> } | undefined>> = {
  '/': page('index.html', 'html'),
  '/icon.svg': page('icon.svg', 'svg'),
  '/base.css': page('base.css', 'css'),
  '/chat.css': page('chat.css', 'css'),
  '/message.css': page('message.css', 'css'),
  '/markup.css': page('markup.css', 'css'),
  '/composer.css': page('composer.css', 'css'),
  '/platforms.css': page('platforms.css', 'css'),
  '/app.js': page('app.js', 'js'),
  '/chat.js': page('chat.js', 'js'),
  '/composer.js': page('composer.js', 'js'),
  '/dialog.js': page('dialog.js', 'js'),
  '/message.js': page('message.js', 'js'),
  '/element.js': page('element.js', 'js'),
}

/** Returns a file of the page, which is read again for each request. */
function page(name: string, type: keyof typeof types) {
  return { type: types[type], read: () => readFile(new URL(`page/${name}`, import.meta.url)) }
}
