"""calibo"""
