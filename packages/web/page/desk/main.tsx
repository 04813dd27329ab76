import '../view/styles.ts'
import { render } from 'preact'
import '../base.css'
import '../view/view.css'
import { Desk } from './desk.tsx'

const root = document.getElementById('app')
if (root) render(<Desk />, root)
