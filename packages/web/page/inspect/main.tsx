import { render } from 'preact'
import '../view/styles.ts'
import './inspect.css'
import { Inspector } from './inspector.tsx'

const root = document.getElementById('app')
if (root) render(<Inspector />, root)
