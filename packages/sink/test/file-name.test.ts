import { describe, expect, test } from 'vitest'
import { fileExtension, safeFileName } from '../src/view/file-name.ts'
import { settledWith, text, viewOf } from './make.ts'

/** What a desktop or browser runs, renders as a page or follows on a double click. */
const active = [
  ...[
    'html',
    'htm',
    'xhtml',
    'mhtml',
    'svg',
    'xml',
    'xsl',
    'js',
    'mjs',
    'cjs',
    'jsx',
    'jse',
    'javascript',
    'wsf',
    'vbs',
    'vbe',
  ],
  ...[
    'sh',
    'bash',
    'zsh',
    'fish',
    'shell',
    'command',
    'tool',
    'bat',
    'batch',
    'cmd',
    'ps1',
    'psm1',
    'powershell',
    'py',
    'pyw',
  ],
  ...[
    'python',
    'rb',
    'ruby',
    'pl',
    'perl',
    'php',
    'lua',
    'tcl',
    'r',
    'jl',
    'groovy',
    'exs',
    'applescript',
    'scpt',
    'ahk',
    'au3',
  ],
  ...[
    'desktop',
    'url',
    'webloc',
    'lnk',
    'hta',
    'chm',
    'jar',
    'jnlp',
    'exe',
    'com',
    'scr',
    'msi',
    'dll',
    'apk',
    'dmg',
    'pkg',
    'deb',
  ],
  ...[
    'reg',
    'inf',
    'scf',
    'gadget',
    'cpl',
    'csv',
    'tsv',
    'docm',
    'xlsm',
    'pdf',
    'iso',
    'zip',
    'workflow',
    'service',
    'mobileconfig',
  ],
]

describe('a fence written by a model', () => {
  test.each(active)('of %s becomes a text file', (language) => {
    const code = `\`\`\`${language}\n${'echo 1\n'.repeat(800)}\`\`\``
    const { cards } = viewOf(settledWith([text(code)]), { uploads: true })
    expect(cards.find(({ type }) => type === 'file')).toMatchObject({ type: 'file', file: { name: 'code-1.txt' } })
    expect(fileExtension(language.toUpperCase())).toBe('txt')
  })

  test.each([
    ['TypeScript', 'ts'],
    ['rust', 'rs'],
    ['c++', 'cpp'],
    ['JSON', 'json'],
    ['diff', 'diff'],
    ['', 'txt'],
    ['../../etc', 'txt'],
    ['txt\u202e', 'txt'],
    ['constructor', 'txt'],
  ])('of %j gets the extension %s', (language, extension) => {
    expect(fileExtension(language)).toBe(extension)
  })
})

describe('the name of an upload', () => {
  test.each([
    ['code-1.ts', 'code-1.ts'],
    ['bash.DIFF', 'bash.diff'],
    ['page.html', 'page-html.txt'],
    ['invoice.pdf.exe', 'invoice-pdf-exe.txt'],
    ['notes.txt.html', 'notes-txt-html.txt'],
    ['report.exe.txt', 'report-exe.txt'],
    ['run.sh.', 'run-sh.txt'],
    ['run.sh .', 'run-sh.txt'],
    ['run.txt ', 'run-txt.txt'],
    ['run.bat::$DATA', 'run-bat-DATA.txt'],
    ['../../.bashrc', 'bashrc.txt'],
    ['C:\\Windows\\a.txt', 'C-Windows-a.txt'],
    ['a\u0000.html\n.txt', 'a-u0000-html.txt'],
    ['\u202etxt.exe', 'u202etxt-exe.txt'],
    ['in\u200bvoice\u2066.md', 'in-u200bvoice-u2066.md'],
    ['-rf.txt', 'rf.txt'],
    ['con.txt', 'con_.txt'],
    ['LPT1.md', 'LPT1_.md'],
    ['', 'file.txt'],
    ['...', 'file.txt'],
    ['überblick λ.md', 'überblick-λ.md'],
    [`${'👍'.repeat(3)}.txt`, 'file.txt'],
    [`${'x'.repeat(300)}.txt`, `${'x'.repeat(79)}.txt`],
  ])('%j becomes %j', (given, name) => {
    expect(safeFileName(given)).toBe(name)
    expect(safeFileName(name)).toBe(name)
  })
})

describe('the name of a file that is not a text', () => {
  test.each([
    ['dot.png', 'image/png', 'dot.png'],
    ['Dot.PNG', 'IMAGE/PNG; a=b', 'Dot.png'],
    ['photo.jpeg', 'image/jpeg', 'photo-jpeg.jpg'],
    ['invoice.pdf.exe', 'image/png', 'invoice-pdf-exe.png'],
    ['run.exe', 'application/x-msdownload', 'run-exe.bin'],
    ['page.html', 'application/octet-stream', 'page-html.bin'],
    ['page.html', 'text/html', 'page-html.txt'],
    ['logo.svg', 'image/svg+xml', 'logo-svg.txt'],
    ['data.json', 'application/json', 'data.json'],
    ['../../.ssh/id.png', 'image/png', 'ssh-id.png'],
    ['a\u0000\u202egnp.png', 'image/png', 'a-u0000-u202egnp.png'],
    ['', 'image/png', 'file.png'],
    ['con.png', 'image/png', 'con_.png'],
    [`${'n'.repeat(300)}.png`, 'image/png', `${'n'.repeat(79)}.png`],
  ])('%j of the type %s', (name, mime, safe) => {
    expect(safeFileName(name, mime)).toBe(safe)
  })
})
